import type { ProposedAction, Span } from "../api/documents.ts";

/** A piece of the source between two borders of evidence, and the claims that rest on it. */
export interface Piece {
  text: string;
  start: number;
  claims: string[];
}

export interface Claim extends Span {
  claim: string;
}

/** Name an argument of an action, as the source's highlights refer to it. */
export const claimOf = (action: string, argument: string): string => `${action}.${argument}`;

/** List every span of the source that an argument rests on. */
export function claimsOf(actions: readonly ProposedAction[]): Claim[] {
  return actions.flatMap((action) =>
    Object.entries(action.evidence).flatMap(([name, evidence]) =>
      evidence.spans.map((span) => ({ ...span, claim: claimOf(action.id, name) })),
    ),
  );
}

/**
 * Cut a source where evidence begins and ends.
 *
 * Spans count code points, so that a character beyond the basic plane is one; overlapping spans
 * give pieces with several claims; what lies outside the text is cut off.
 */
export function divide(source: string, claims: readonly Claim[]): Piece[] {
  const points = Array.from(source);
  const inside = (place: number) => Math.min(Math.max(place, 0), points.length);
  const borders = new Set([0, points.length]);
  for (const { start, end } of claims) borders.add(inside(start)).add(inside(end));
  const sorted = [...borders].sort((one, other) => one - other);
  return sorted.slice(0, -1).map((start, index) => {
    const end = sorted[index + 1] ?? points.length;
    const over = claims.filter((each) => each.start <= start && end <= each.end);
    return {
      text: points.slice(start, end).join(""),
      start,
      claims: [...new Set(over.map((each) => each.claim))],
    };
  });
}
