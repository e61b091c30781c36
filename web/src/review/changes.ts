import type { Effect, Json, Proposal, ProposedAction, Values } from "../api/documents.ts";

/** A value that is another than before; `undefined` where there was or is none. */
export interface ValueChange {
  name: string;
  before: Json | undefined;
  after: Json | undefined;
}

export interface ActionChange {
  id: string;
  ordinal: number;
  kind: string;
  how: "added" | "removed" | "changed";
  values: ValueChange[];
}

/** List what differs between two sets of values, in the order of their names' first mention. */
export function differences(before: Values, after: Values): ValueChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((name) => !isSame(before[name], after[name]))
    .map((name) => ({ name, before: before[name], after: after[name] }));
}

/**
 * Say what a proposal would do otherwise than the one that was shown.
 *
 * Actions are matched by id; a correction gives new ids, and then by kind and place among their
 * kind. Effects count as values named by their row and column.
 */
export function changesBetween(shown: Proposal, now: Proposal): ActionChange[] {
  const left = new Map(shown.actions.map((action) => [action.id, action]));
  const places = byPlace(shown.actions);
  const known = new Set(now.actions.map((action) => action.id));
  const changes: ActionChange[] = [];
  for (const [place, action] of byPlace(now.actions)) {
    const there = places.get(place);
    const old = left.get(action.id) ?? (there && !known.has(there.id) ? there : undefined);
    if (old) left.delete(old.id);
    const values = old ? differences(everything(old), everything(action)) : [];
    if (!old) changes.push(told(action, "added", []));
    else if (values.length > 0) changes.push(told(action, "changed", values));
  }
  return [...changes, ...[...left.values()].map((action) => told(action, "removed", []))];
}

function told(action: ProposedAction, how: ActionChange["how"], values: ValueChange[]) {
  return { id: action.id, ordinal: action.ordinal, kind: action.kind, how, values };
}

function byPlace(actions: readonly ProposedAction[]): Map<string, ProposedAction> {
  const seen = new Map<string, number>();
  return new Map(
    actions.map((action) => {
      const place = (seen.get(action.kind) ?? 0) + 1;
      seen.set(action.kind, place);
      return [`${action.kind}#${place}`, action];
    }),
  );
}

/** Put arguments and effects of an action under one set of names; references are left out. */
function everything(action: ProposedAction): Values {
  const own = Object.entries(action.args).filter(([, value]) => !isReference(value));
  const status = action.status === "ready" ? [] : [["status", action.status] as const];
  return Object.fromEntries([...own, ...status, ...action.effects.flatMap(columns)]);
}

function columns(effect: Effect): [string, Json][] {
  if (isRecord(effect)) return [];
  const row: [string, Json][] = Object.entries(shownColumns(effect)).map(([name, value]) => [
    `${effect.table}.${name}`,
    value,
  ]);
  return [[effect.table, `${effect.operation} ${effect.row}`], ...row];
}

/** Say whether a value stands for the row that an earlier action makes. */
export function isReference(value: Json | undefined): value is { $ref: string } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && "$ref" in value;
}

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Say whether a value is the id of a row, which tells a person nothing. */
export const isId = (value: Json | undefined): boolean =>
  typeof value === "string" && ID.test(value);

/** Say whether an effect is one that every action has: an event or a fact about it. */
export const isRecord = (effect: Effect): boolean => ["event", "fact"].includes(effect.table);

/** Give the columns worth showing: keys say the same as another column in a normal form. */
export function shownColumns(effect: Effect): Values {
  const values = effect.operation === "delete" ? effect.before : effect.after;
  const hidden = /(_key|fingerprint)$/;
  return Object.fromEntries(Object.entries(values).filter(([name]) => !hidden.test(name)));
}

/** Compare two JSON values; the order of an object's names is no difference. */
export function isSame(one: Json | undefined, other: Json | undefined): boolean {
  return canonical(one) === canonical(other);
}

function canonical(value: Json | undefined): string {
  return JSON.stringify(value, (_, part: Json) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
