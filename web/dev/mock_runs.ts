import type { Proposal } from "../src/api/documents.ts";
import sample from "./sample.json" with { type: "json" };

/** What the mock tells of a run, and the pieces that its documents are made of. */

type Told = Record<string, unknown>;

export function readingEvents(): Told[] {
  const [, posting] = (sample.proposal as unknown as Proposal).actions;
  const fields = Object.entries(posting?.args ?? {}).map(([name, value]) => ({
    type: "STATE_DELTA",
    delta: [
      {
        op: "add",
        path: `/fields/extract_job/~1${name}`,
        value: { value, evidence: posting?.evidence[name] ?? null },
      },
    ],
  }));
  return [
    { type: "RUN_STARTED" },
    { type: "STATE_SNAPSHOT", snapshot: { fields: { extract_job: {} } } },
    { type: "STEP_STARTED", stepName: "extract_job" },
    ...fields,
    { type: "STEP_FINISHED", stepName: "extract_job" },
    { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [] } },
  ];
}

export function diagnosisEvents(): Told[] {
  const steps = sample.diagnosis.doc.events.flatMap(({ node }) => [
    { type: "STEP_STARTED", stepName: node },
    { type: "STEP_FINISHED", stepName: node },
  ]);
  return [
    { type: "RUN_STARTED" },
    ...steps,
    { type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [] } },
  ];
}

export const GRAPH = {
  nodes: [
    "planner",
    "executor",
    "gatekeeper",
    "verified_input",
    "verifier",
    "evidence_retry",
    "composer",
    "fallback",
  ],
  edges: [
    ["planner", "executor"],
    ["planner", "planner"],
    ["planner", "fallback"],
    ["executor", "gatekeeper"],
    ["executor", "fallback"],
    ["gatekeeper", "verified_input"],
    ["gatekeeper", "fallback"],
    ["verified_input", "verifier"],
    ["verifier", "composer"],
    ["verifier", "verifier"],
    ["verifier", "evidence_retry"],
    ["verifier", "fallback"],
    ["evidence_retry", "planner"],
    ["composer", "composer"],
    ["composer", "fallback"],
  ],
};

export const DETAIL = {
  website: "https://company.example",
  place: null,
  application: { id: "1", status: "applied", channel: "内推", applied_on: "2026-03-02" },
  requirements: [
    { id: "1", kind: "skill", importance: "must", text: "熟悉 Go 或 Java，了解 PostgreSQL" },
    { id: "2", kind: "experience", importance: "nice", text: "<b>有分布式系统经验者优先</b>" },
  ],
  interviews: [
    { id: "1", round: 1, starts_at: "2026-03-09T09:00:00Z", mode: "video", place: null },
  ],
  reminders: [{ id: "1", about: "投递截止", due_on: "2026-12-21", done_at: null }],
  provenance: [
    {
      message_id: "1",
      received_at: "2026-03-02T12:00:00Z",
      source: null,
      proposal_id: sample.proposal.proposal,
    },
  ],
};

export const FUNNEL = {
  applications: 3,
  stages: [
    { stage: "saved", reached: 3, of_previous: null, median_days: null },
    { stage: "applied", reached: 2, of_previous: 0.6667, median_days: 2.5 },
    { stage: "interviewing", reached: 1, of_previous: 0.5, median_days: 9 },
    { stage: "offer", reached: 0, of_previous: 0, median_days: null },
  ],
  ended: { rejected: { saved: 0, applied: 1 }, withdrawn: {} },
};
