import fastJsonPatch, { type Operation } from "fast-json-patch";
import type { Evidence, Json, Values } from "../api/documents.ts";

/** One event of the AG-UI protocol, as far as this client reads them. */
export interface RunEvent {
  type: string;
  [name: string]: unknown;
}

export interface Step {
  name: string;
  state: "running" | "done";
  reason: string;
}

export interface FieldRead {
  node: string;
  pointer: string;
  value: Json;
  evidence: Evidence | null;
}

/** What a run has shown of itself so far. */
export interface Reading {
  state: "waiting" | "running" | "interrupted" | "finished" | "failed";
  /** In the order in which they began; a node that runs again stands there again. */
  steps: Step[];
  /** The document that snapshots and deltas of the run build. */
  shared: Values;
  said: string[];
  reply: string;
}

export const NOTHING_READ: Reading = {
  state: "waiting",
  steps: [],
  shared: {},
  said: [],
  reply: "",
};

/** Take one event of a run into account; one of another kind changes nothing. */
export function read(reading: Reading, event: RunEvent): Reading {
  switch (event.type) {
    case "RUN_STARTED":
      return { ...NOTHING_READ, state: "running" };
    case "STEP_STARTED":
      return {
        ...reading,
        state: "running",
        steps: [...reading.steps, { name: words(event["stepName"]), state: "running", reason: "" }],
      };
    case "STEP_FINISHED":
      return { ...reading, steps: finish(reading.steps, event) };
    case "STATE_SNAPSHOT":
      return { ...reading, shared: asValues(event["snapshot"]) };
    case "STATE_DELTA":
      return { ...reading, shared: patched(reading.shared, event["delta"]) };
    case "TEXT_MESSAGE_START":
      return { ...reading, reply: "" };
    case "TEXT_MESSAGE_CONTENT":
    case "TEXT_MESSAGE_CHUNK":
      return { ...reading, reply: reading.reply + words(event["delta"]) };
    case "CUSTOM":
      return { ...reading, said: [...reading.said, ...told(event["value"])] };
    case "RUN_FINISHED":
      return {
        ...reading,
        state: isInterrupt(event) ? "interrupted" : "finished",
        steps: reading.steps.map((step) => (step.state === "running" ? done(step) : step)),
      };
    case "RUN_ERROR":
      return { ...reading, state: "failed" }; // the turn itself says why
    default:
      return reading;
  }
}

/** Say whether no more events of a run will come. */
export const isOver = (reading: Reading): boolean =>
  ["interrupted", "finished", "failed"].includes(reading.state);

/** List the values read so far; the shared document has them by node and pointer. */
export function fieldsOf(reading: Reading): FieldRead[] {
  return Object.entries(asValues(reading.shared["fields"])).flatMap(([node, fields]) =>
    Object.entries(asValues(fields)).map(([pointer, held]) => {
      const field = asValues(held);
      const evidence = (field["evidence"] as Evidence | undefined) ?? null;
      return { node, pointer, value: field["value"] ?? null, evidence };
    }),
  );
}

/** Give the latest sentence about a run; a step that it begins with by the name people know. */
export function latest(reading: Reading, called: (node: string) => string): string {
  return (reading.said.at(-1) ?? "").trim().replace(STEP, called);
}

const STEP = /^[a-z]+(_[a-z]+)*(?=\S*: )/;
const done = (step: Step): Step => ({ ...step, state: "done" });

/** Finish the latest run of the step that an event names. */
function finish(steps: Step[], event: RunEvent): Step[] {
  const name = words(event["stepName"]);
  const place = steps.findLastIndex((step) => step.name === name && step.state === "running");
  const reason = words(asValues(event["metadata"])["reason"]);
  const ended: Step = { name, state: "done", reason };
  return place < 0 ? [...steps, ended] : steps.with(place, ended);
}

function patched(shared: Values, delta: unknown): Values {
  if (!Array.isArray(delta)) return shared;
  try {
    return fastJsonPatch.applyPatch(shared, delta as Operation[], true, false).newDocument;
  } catch {
    return shared; // of a document whose snapshot this page did not see
  }
}

function isInterrupt(event: RunEvent): boolean {
  return asValues(event["outcome"])["type"] === "interrupt";
}

function told(value: unknown): string[] {
  const text = typeof value === "string" ? value : words(asValues(value)["text"]);
  return text === "" ? [] : [text];
}

function words(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function asValues(value: unknown): Values {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Values)
    : {};
}
