import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Proposal, ProposedAction, Values, Verdict } from "../api/documents.ts";
import { http } from "../api/http.ts";
import { Problem } from "../api/problem.ts";
import { proposalQuery } from "../api/queries.ts";
import { type ActionChange, changesBetween } from "./changes.ts";
import { carriedVerdicts, startingVerdicts, type Verdicts } from "./verdicts.ts";

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
  const path = `/proposals/${shown.proposal}`;

  const show = (answer: Proposal, why: Revision["why"] | null) => {
    const now = { ...shown, ...answer }; // the source's words come with the first reading only
    const changes = changesBetween(shown, now);
    const changed = new Set(changes.map((change) => change.id));
    setVerdicts(carriedVerdicts(verdicts, shown, now, changed));
    setRevision(why && { why, changes });
    setShown(now);
    client.setQueryData(proposalQuery(now.proposal).queryKey, now);
  };
  const refuse = (error: Error) => {
    if (error instanceof Problem && error.proposal) show(error.proposal, "stale");
  };

  const decide = useMutation({
    mutationFn: (sent: { verdicts: Verdicts; rest?: Verdict }) =>
      http.post<{ proposal: Proposal }>(`${path}/decide`, { digest: shown.digest, ...sent }),
    onSuccess: (answer) => {
      show(answer.proposal, null);
      for (const key of ["proposals", "turns", "turn", "domain"])
        void client.invalidateQueries({ queryKey: [key] });
    },
    onError: refuse,
  });
  const amend = useMutation({
    mutationFn: (edits: Record<string, Values>) =>
      http.post<Proposal>(`${path}/amend`, { digest: shown.digest, edits }),
    onSuccess: (answer) => {
      show(answer, "amended");
    },
    onError: refuse,
  });
  const correct = useMutation({
    mutationFn: (words: string) =>
      http.post<unknown>(`${path}/correct`, { digest: shown.digest, words }),
    onSuccess: () => {
      setShown({ ...shown, state: "corrected" });
      void client.invalidateQueries({ queryKey: ["turn", shown.turn] });
    },
    onError: refuse,
  });

  return {
    shown,
    verdicts,
    revision,
    isBusy: decide.isPending || amend.isPending || correct.isPending,
    error: decide.error ?? amend.error ?? correct.error,
    say: (action: ProposedAction, verdict: Verdict) => {
      setVerdicts({ ...verdicts, [action.id]: verdict });
    },
    decide: (rest?: Verdict) => {
      decide.mutate(rest ? { verdicts, rest } : { verdicts });
    },
    /** Say the same of every action that is undecided, and send it. */
    decideAll: (verdict: Verdict) => {
      const pending = shown.actions.filter((action) => action.state === "pending");
      decide.mutate({ verdicts: Object.fromEntries(pending.map(({ id }) => [id, verdict])) });
    },
    edit: async (action: ProposedAction, edits: Values) => {
      amend.reset();
      try {
        await amend.mutateAsync({ [action.id]: edits });
        return true;
      } catch (error) {
        return error instanceof Problem && error.proposal !== null;
      }
    },
    correct: (words: string) => {
      correct.mutate(words);
    },
  };
}
