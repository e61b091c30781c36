import type { Proposal, ProposedAction, Verdict } from "../api/documents.ts";

export type Verdicts = Readonly<Record<string, Verdict>>;

/** Give the verdicts a person starts from: what is complete and stands in the source is ticked. */
export function startingVerdicts(proposal: Proposal): Verdicts {
  const ticked = proposal.actions.filter((each) => each.state === "pending" && each.ticked);
  return Object.fromEntries(ticked.map((action) => [action.id, "approve" as const]));
}

/** Name the actions that fall because one that they depend on is rejected. */
export function fallen(proposal: Proposal, verdicts: Verdicts): Set<string> {
  const gone = new Set<number>();
  const falls = new Set<string>();
  // An action only ever depends on earlier ones.
  for (const action of [...proposal.actions].sort((one, other) => one.ordinal - other.ordinal)) {
    const isPending = action.state === "pending";
    const hasFallen = isPending && action.depends_on.some((ordinal) => gone.has(ordinal));
    if (hasFallen) falls.add(action.id);
    if (hasFallen || action.state === "rejected" || verdicts[action.id] === "reject")
      gone.add(action.ordinal);
  }
  return falls;
}

/** List the actions of which nothing is said, and that fall with no other. */
export function undecided(proposal: Proposal, verdicts: Verdicts): ProposedAction[] {
  const falls = fallen(proposal, verdicts);
  return proposal.actions.filter(
    ({ id, state }) => state === "pending" && !falls.has(id) && verdicts[id] === undefined,
  );
}

/**
 * Say the same of what is undecided.
 *
 * To approve takes what is complete and stands in the source: a value that rests on nothing has to
 * be looked at by itself.
 */
export function withRest(proposal: Proposal, verdicts: Verdicts, verdict: Verdict): Verdicts {
  const rest = undecided(proposal, verdicts).filter((each) => verdict === "reject" || each.ticked);
  return { ...verdicts, ...Object.fromEntries(rest.map(({ id }) => [id, verdict])) };
}

interface Anew {
  before: Proposal;
  /** What would now do something else. */
  changed: ReadonlySet<string>;
  /** What the person edited by themself just now. */
  edited: readonly string[];
}

/**
 * Keep of earlier verdicts what was said of actions that still would do the same.
 *
 * What was rejected stays so, whatever it would do now, unless the person edited it.
 */
export function carriedVerdicts(verdicts: Verdicts, now: Proposal, anew: Anew): Verdicts {
  const start = startingVerdicts(now);
  const known = new Set(anew.before.actions.map((action) => action.id));
  const kept = now.actions.flatMap((action): [string, Verdict][] => {
    const isRejected = verdicts[action.id] === "reject" && !anew.edited.includes(action.id);
    const isSame = isRejected || (known.has(action.id) && !anew.changed.has(action.id));
    const said = isSame ? verdicts[action.id] : start[action.id];
    return said === undefined || action.state !== "pending" ? [] : [[action.id, said]];
  });
  return Object.fromEntries(kept);
}

export interface Tally {
  approved: number;
  rejected: number;
  open: number;
}

/** Count what a decision would come to; what falls with a rejected action counts as rejected. */
export function tally(proposal: Proposal, verdicts: Verdicts): Tally {
  const falls = fallen(proposal, verdicts);
  const pending = proposal.actions.filter((action) => action.state === "pending");
  const rejected = pending.filter((a) => falls.has(a.id) || verdicts[a.id] === "reject").length;
  const approved = pending.filter((a) => !falls.has(a.id) && verdicts[a.id] === "approve").length;
  return { approved, rejected, open: pending.length - approved - rejected };
}
