import type { QueryClient } from "@tanstack/react-query";
import { meQuery } from "../api/queries.ts";
import { forgetDrafts } from "./drafts.ts";

const SIGNED_OUT = "alfred.signed-out";

/** Show the way in; what was typed is kept for the same user. */
export function endSession(client: QueryClient): void {
  client.setQueryData(meQuery.queryKey, null);
}

/** Forget whatever was read: who signs in next may be another. */
export function forgetRead(client: QueryClient): void {
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== meQuery.queryKey[0] });
}

/** Say in every tab of this browser that somebody signed out, and forget what they typed. */
export function tellSignOut(): void {
  forgetDrafts();
  localStorage.setItem(SIGNED_OUT, new Date().toISOString());
}

/** End the session of this tab where another one says so. */
export function hearSignOut(client: QueryClient): void {
  window.addEventListener("storage", ({ key }) => {
    if (key === SIGNED_OUT) endSession(client);
  });
}
