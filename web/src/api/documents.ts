/** The documents of the API, as `alfred/server` answers them. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Values = Record<string, Json>;

export interface Page<Item> {
  items: Item[];
  next: string | null;
}

export interface Me {
  user: string;
  language: "zh" | "en";
  csrf: string;
  domains: string[];
}

/** A half-open range of code points, not of UTF-16 units. */
export interface Span {
  start: number;
  end: number;
}

export type Support =
  "grounded" | "classified" | "derived" | "given" | "literal" | "edited" | "said" | "ungrounded";

export interface Evidence {
  support: Support;
  spans: Span[];
  quote: string;
}

export interface Effect {
  operation: "create" | "update" | "none" | "append" | "delete";
  table: string;
  row: string;
  before: Values;
  after: Values;
}

export type ActionState =
  "pending" | "approved" | "committed" | "rejected" | "expired" | "superseded";

export interface ProposedAction {
  id: string;
  ordinal: number;
  kind: string;
  node: string;
  state: ActionState;
  status: "ready" | "incomplete" | "blocked" | "refused";
  ticked: boolean;
  problem: string;
  missing: string[];
  /** Ordinals of the actions that this one falls with. */
  depends_on: number[];
  args: Values;
  evidence: Record<string, Evidence>;
  effects: Effect[];
}

export interface Proposal {
  proposal: string;
  turn: string;
  state: ActionState | "corrected";
  revision: number;
  digest: string;
  expires_at: string;
  notices: string[];
  actions: ProposedAction[];
  text?: string;
  thread?: string;
}

export interface Turn {
  turn: string;
  state: "queued" | "running" | "waiting" | "done" | "failed";
  outcome: string | null;
  domain: string | null;
  source: string | null;
  received_at: string;
  problem: string | null;
  text?: string;
  proposal?: string | null;
  reply?: string | null;
  problems?: string[];
}

export interface Kind {
  schema: Values;
  called: string[];
}

export interface GraphDrawing {
  nodes: string[];
  edges: [string, string][];
}

export interface Token {
  id: string;
  name: string;
  scopes: ("read" | "propose" | "decide" | "admin")[];
  expires_at: string | null;
  last_used: string | null;
  revoked_at?: string | null;
}

export type Verdict = "approve" | "reject";
