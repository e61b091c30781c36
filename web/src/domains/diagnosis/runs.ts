import { useQuery } from "@tanstack/react-query";
import type { Values } from "../../api/documents.ts";
import { http } from "../../api/http.ts";
import { usePages } from "../../api/queries.ts";

export interface RunRow {
  id: string;
  question: string;
  scope: Values;
  window_start: string;
  window_end: string;
  began_at: string;
  ended_at: string | null;
  is_cancelled: boolean;
  finding: string | null;
  terminal_reason: string | null;
}

export interface Call {
  id: string;
  tool: string;
  kind: string;
  asked: string;
  where: string;
  outcome: string;
  error: string;
  lines: string[];
  truncated: boolean;
  round: number;
}

export interface Fact {
  id: string;
  round: number;
  fact: string;
  role: string;
  verification: string;
  evidence: string[];
}

export interface Sentence {
  text: string;
  facts: string[];
  evidence: string[];
}

export interface FinalAnswer {
  finding: string | null;
  headline: string;
  sentences: Sentence[];
  hypotheses: { text: string; fact: string; missing?: string }[];
  missing: string[];
  next_checks: { tool: string; arguments?: Values; why?: string }[];
  tried: string[];
  failed: string[];
  next_steps: string[];
  reason: string;
}

export interface StepEvent {
  node: string;
  outcome: string;
  reason_code: string;
  attempt: number;
}

export interface Diagnosis {
  run: RunRow;
  calls: Call[];
  facts: Fact[];
  events: StepEvent[];
  answer: Partial<FinalAnswer> | null;
  cost: { calls: number; milliseconds: number } | null;
}

export const useRuns = () => usePages<RunRow>(["domain", "diagnoses"], "/diagnoses");

export const useRun = (id: string) =>
  useQuery({
    queryKey: ["domain", "diagnosis", id],
    queryFn: () => http.get<Diagnosis>(`/diagnoses/${id}`),
  });
