import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import type { Proposal, ProposedAction, Values, Verdict } from "../api/documents.ts";
import { http } from "../api/http.ts";
import { Problem } from "../api/problem.ts";
import { proposalQuery } from "../api/queries.ts";
import { type ActionChange, changesBetween } from "./changes.ts";
import { carriedVerdicts, startingVerdicts, type Verdicts, withRest } from "./verdicts.ts";

/** Why the proposal on the screen is another than the one before it. */
export interface Revision {
  why: "amended" | "stale";
  changes: ActionChange[];
}

/**
 * Keep what a person says of one proposal until it is sent.
 *
 * `shown` is the proposal as it is on the screen: a decision names its digest. A refusal that comes
 * with another one shows that instead, with what is different.
 */
export function useReview(loaded: Proposal) {
  const client = useQueryClient();
  const [shown, setShown] = useState(loaded);
  const [verdicts, setVerdicts] = useState<Verdicts>(() => startingVerdicts(loaded));
  const [revision, setRevision] = useState<Revision | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const path = `/proposals/${shown.proposal}`;

  const show = (answer: Proposal, why: Revision["why"] | null, edited: readonly string[] = []) => {
    const now = { ...shown, ...answer }; // the source's words come with the first reading only
    const changes = changesBetween(shown, now);
    const changed = new Set(changes.map((change) => change.id));
    setVerdicts(carriedVerdicts(verdicts, now, { before: shown, changed, edited }));
    setRevision(why && { why, changes });
    setShown(now);
    client.setQueryData(proposalQuery(now.proposal).queryKey, now);
  };
  const attempt = {
    onMutate: () => {
      setError(null);
    },
    onError: (refused: Error) => {
      setError(refused);
      if (refused instanceof Problem && refused.proposal) show(refused.proposal, "stale");
    },
  };

  const decide = useMutation({
    ...attempt,
    mutationFn: (said: Verdicts) =>
      http.post<{ proposal: Proposal }>(`${path}/decide`, {
        digest: shown.digest,
        verdicts: said,
      }),
    onSuccess: (answer) => {
      show(answer.proposal, null);
      for (const key of ["proposals", "turns", "turn", "domain"])
        void client.invalidateQueries({ queryKey: [key] });
    },
  });
  const amend = useMutation({
    ...attempt,
    mutationFn: (edits: Record<string, Values>) =>
      http.post<Proposal>(`${path}/amend`, { digest: shown.digest, edits }),
    onSuccess: (answer, edits) => {
      show(answer, "amended", Object.keys(edits));
    },
  });
  const correct = useMutation({
    ...attempt,
    mutationFn: (words: string) =>
      http.post<unknown>(`${path}/correct`, { digest: shown.digest, words }),
    onSuccess: () => {
      setShown({ ...shown, state: "corrected" });
      void client.invalidateQueries({ queryKey: ["turn", shown.turn] });
    },
  });

  const { mutateAsync: sendEdits } = amend;
  const { mutateAsync: sendWords } = correct;
  return {
    shown,
    verdicts,
    revision,
    isBusy: decide.isPending || amend.isPending || correct.isPending,
    error,
    say: useCallback((action: ProposedAction, verdict: Verdict) => {
      setVerdicts((said) => ({ ...said, [action.id]: verdict }));
    }, []),
    /** Say it of what is undecided; what does not stand in the source is approved one by one. */
    sayOfRest: (verdict: Verdict) => {
      setVerdicts(withRest(shown, verdicts, verdict));
    },
    /** Take back whatever was said, and what was ticked from the start. */
    startOver: () => {
      setVerdicts({});
    },
    decide: () => {
      decide.mutate(verdicts);
    },
    /** Say the same of every action, and send it. */
    decideAll: (verdict: Verdict) => {
      const pending = shown.actions.filter((action) => action.state === "pending");
      decide.mutate(Object.fromEntries(pending.map(({ id }) => [id, verdict])));
    },
    /** Send edits; false where they were refused, so that what was typed stays. */
    edit: useCallback(
      (action: ProposedAction, edits: Values) => isDone(sendEdits({ [action.id]: edits })),
      [sendEdits],
    ),
    /** Say in words what is wrong; false where that was refused. */
    correct: (words: string) => isDone(sendWords(words)),
  };
}

const isDone = (sent: Promise<unknown>): Promise<boolean> =>
  sent.then(
    () => true,
    () => false, // `error` says why
  );
