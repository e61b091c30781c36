import { useEffect } from "react";

/** Name the page in the browser's tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Alfred`;
  }, [title]);
}
