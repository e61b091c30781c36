import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Json } from "../api/documents.ts";
import { meQuery } from "../api/queries.ts";

const PREFIX = "alfred.draft.";

const keyOf = (user: string, place: string): string => `${PREFIX}${user}.${place}`;

/** Read what was typed at a place and not sent; undefined where nothing was. */
export function keptDraft(user: string, place: string): Json | undefined {
  try {
    const kept = localStorage.getItem(keyOf(user, place));
    return kept === null ? undefined : (JSON.parse(kept) as Json);
  } catch {
    return undefined; // what a browser lost, or somebody changed, is no draft
  }
}

/** Keep what was typed at a place; undefined forgets it. */
export function keepDraft(user: string, place: string, draft: Json | undefined): void {
  try {
    if (draft === undefined) localStorage.removeItem(keyOf(user, place));
    else localStorage.setItem(keyOf(user, place), JSON.stringify(draft));
  } catch {
    // More than a browser keeps: the words are on the page still.
  }
}

/** Say whether something was typed and not sent, by whoever. */
export const hasDrafts = (): boolean => draftKeys().length > 0;

/** Forget everything that was typed and not sent, of every user: somebody signs out. */
export function forgetDrafts(): void {
  for (const key of draftKeys()) localStorage.removeItem(key);
}

const draftKeys = (): string[] => Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));

/**
 * Hold words until they are sent; a session that ends, or a page that is closed, loses none.
 *
 * They are kept in this browser, by user and place, and forgotten when they are emptied or the
 * user signs out.
 */
export function useDraft(place: string): [string, (words: string) => void] {
  const user = useUser();
  const [words, setWords] = useState(() => {
    const kept = keptDraft(user, place);
    return typeof kept === "string" ? kept : "";
  });
  const write = (typed: string) => {
    setWords(typed);
    keepDraft(user, place, typed === "" ? undefined : typed);
  };
  return [words, write];
}

/** Name who is signed in, for what is kept by user. */
export const useUser = (): string => useQuery(meQuery).data?.user ?? "";
