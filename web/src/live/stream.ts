import type { RunEvent } from "./reading.ts";

/** What the follower of a stream that never ends by itself wants to know of it. */
export interface Watch {
  /** Called before a stream that was left, or refused, is opened again. */
  onReturn: () => void;
  /** Called with false where a stream stays away, which is longer than the server takes to end. */
  onState: (isConnected: boolean) => void;
}

const AGAIN_MS = 5000;
const LOST_MS = 6000;

/**
 * Follow a stream of server-sent events until it is closed.
 *
 * The browser connects anew by itself where the connection breaks, naming the last event it saw.
 * Where it was refused, as by a proxy whose server starts anew, the browser gives up: a stream with
 * a `watch` is then opened again. A browser opens few connections to one server for all its tabs
 * together, so that a page nobody looks at holds none.
 */
export function follow(path: string, hear: (event: RunEvent) => void, watch?: Watch): () => void {
  let source: EventSource | null = null;
  let again: number | undefined;
  let lost: number | undefined;
  const close = () => {
    window.clearTimeout(again);
    window.clearTimeout(lost);
    lost = undefined;
    source?.close();
    source = null;
  };
  const reopen = () => {
    watch?.onReturn();
    open();
  };
  const open = () => {
    const opened = new EventSource(path);
    opened.onmessage = (message: MessageEvent<string>) => {
      hear(JSON.parse(message.data) as RunEvent);
    };
    opened.onopen = () => {
      window.clearTimeout(lost);
      lost = undefined;
      watch?.onState(true);
    };
    opened.onerror = () => {
      if (!watch) return;
      lost ??= window.setTimeout(() => {
        watch.onState(false);
      }, LOST_MS);
      if (opened.readyState === EventSource.CLOSED) again = window.setTimeout(reopen, AGAIN_MS);
    };
    source = opened;
  };
  const look = () => {
    if (document.hidden) close();
    else if (source === null) reopen();
  };
  document.addEventListener("visibilitychange", look);
  if (!document.hidden) open();
  return () => {
    document.removeEventListener("visibilitychange", look);
    close();
  };
}
