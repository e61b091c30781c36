import type { RunEvent } from "./reading.ts";

/**
 * Follow a stream of server-sent events until it is closed.
 *
 * The browser connects anew by itself where the connection breaks, naming the last event it saw.
 * A browser opens few connections to one server for all its tabs together, so that a page nobody
 * looks at holds none; `onReturn` is called when it is looked at again, before anything is heard.
 */
export function follow(
  path: string,
  hear: (event: RunEvent) => void,
  onReturn: () => void = () => undefined,
): () => void {
  let source: EventSource | null = null;
  const open = () => {
    source = new EventSource(path);
    source.onmessage = (message: MessageEvent<string>) => {
      hear(JSON.parse(message.data) as RunEvent);
    };
  };
  const close = () => {
    source?.close();
    source = null;
  };
  const look = () => {
    if (document.hidden) close();
    else if (source === null) {
      onReturn();
      open();
    }
  };
  document.addEventListener("visibilitychange", look);
  if (!document.hidden) open();
  return () => {
    document.removeEventListener("visibilitychange", look);
    close();
  };
}
