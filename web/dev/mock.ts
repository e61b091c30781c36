import type { IncomingMessage, ServerResponse } from "node:http";
import type { Plugin } from "vite";
import type { Proposal, Turn, Values, Verdict } from "../src/api/documents.ts";
import { DETAIL, diagnosisEvents, FUNNEL, GRAPH, readingEvents } from "./mock_runs.ts";
import sample from "./sample.json" with { type: "json" };

/**
 * Answers in place of Alfred's server while the pages are worked on. Never built into anything.
 *
 * It keeps one posting and one diagnosis in memory, recorded from a real run; `npm run dev` anew
 * starts over.
 */
export function mockServer(): Plugin {
  const answer = (request: IncomingMessage, response: ServerResponse, next: () => void) => {
    const url = new URL(request.url ?? "/", "http://mock");
    if (!url.pathname.startsWith("/v1/")) next();
    else {
      void respond(request, response, url.pathname.slice(3));
    }
  };
  return {
    name: "alfred-mock",
    configureServer: (server) => {
      server.middlewares.use(answer);
    },
    configurePreviewServer: (server) => {
      server.middlewares.use((_, response: ServerResponse, next) => {
        response.setHeader("Content-Security-Policy", POLICY);
        next();
      });
      server.middlewares.use(answer);
    },
  };
}

type Body = Record<string, unknown>;
const STEP_MS = 700;
/** As the server has it; `npm run dev` itself needs scripts in the page, `npm run preview` none. */
const POLICY = "default-src 'self'; img-src 'self' data:; base-uri 'none'; object-src 'none'";

const proposals = new Map<string, Proposal>();
const turns: Turn[] = [];
const jobs: Values[] = ["saved", "applied", null, "interviewing"].map((status, index) => ({
  id: `00000000-0000-4000-8000-00000000000${index}`,
  company:
    ["澄砚科技", "Harbour & Finch", "<img src=x onerror=alert(1)>", "云栖谷智能科技"][index] ?? "",
  title: ["数据平台工程师", "Data Analyst", "<script>alert(1)</script>", "测试开发"][index] ?? "",
  location: ["嘉兴", "Leeds", null, "杭州"][index] ?? null,
  deadline: index === 1 ? "2026-12-31" : null,
  url: index === 2 ? "javascript:alert(1)" : "https://jobs.example/1",
  requirements: index,
  status,
}));
let isAnswered = true;

remember(sample.proposal as unknown as Proposal, {
  ...(sample.turn as unknown as Turn),
  text: sample.proposal.text,
});
const note = sample.diagnosis.doc.proposal as unknown as Proposal;
remember(
  { ...note, text: sample.diagnosis.text },
  { ...(sample.diagnosis.turn as unknown as Turn), reply: sample.diagnosis.doc.reply },
);

function remember(proposal: Proposal, turn: Turn): void {
  proposals.set(proposal.proposal, structuredClone(proposal));
  turns.unshift({ ...turn, proposal: proposal.proposal });
}

async function respond(request: IncomingMessage, response: ServerResponse, path: string) {
  const [, collection = "", id = "", rest = ""] = path.split("/");
  if (rest === "events" || collection === "events") {
    stream(response, id);
    return;
  }
  const body = request.method === "POST" ? await bodyOf(request) : {};
  const method = `${request.method ?? ""} ${collection}${id && "/id"}${rest && `/${rest}`}`;
  const made = ROUTES[method]?.(id, body);
  const status = made === undefined ? 404 : method.startsWith("POST") ? 201 : 200;
  const refused = typeof made === "object" && made !== null && "status" in made && "type" in made;
  response.statusCode = refused ? Number(made.status) : status;
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify(made ?? { status, type: "urn:alfred:error:request.unknown" }));
}

const page = (items: unknown) => ({ items, next: null });
const find = (id: string) => proposals.get(id);
const pending = () => [...proposals.values()].filter((each) => each.state === "pending");

const ROUTES: Record<string, (id: string, body: Body) => unknown> = {
  "POST session": () => ({}),
  "DELETE session": () => ({}),
  "GET me": () => ({ user: "小林", language: "zh", csrf: "x", domains: ["job", "diagnosis"] }),
  "GET kinds": () => sample.kinds,
  "GET graphs/id": () => GRAPH,
  "GET turns": () => page(turns),
  "GET turns/id": (id) => turns.find((turn) => turn.turn === id),
  "GET proposals": () => page(pending()),
  "GET proposals/id": find,
  "POST proposals/id/decide": decide,
  "POST proposals/id/amend": amend,
  "POST proposals/id/correct": (id) => {
    const proposal = find(id);
    const turn = turns.find((each) => each.turn === proposal?.turn);
    if (!proposal || !turn) return undefined;
    proposal.state = "superseded";
    turn.state = "running";
    const anew = `${id.slice(0, -1)}f`;
    const actions = proposal.actions.filter((action) => action.ordinal !== 8);
    proposals.set(anew, { ...proposal, proposal: anew, state: "pending", actions });
    turn.proposal = anew;
    return {};
  },
  "POST messages": (_, body) => {
    const turn = { ...(sample.turn as unknown as Turn), turn: crypto.randomUUID() };
    turns.unshift({
      ...turn,
      state: "running",
      text: typeof body["text"] === "string" ? body["text"] : "…",
    });
    return { turn: turn.turn };
  },
  "GET jobs": () => page(jobs),
  "GET jobs/id": (id) =>
    id === "funnel" ? FUNNEL : { ...jobs.find((job) => job["id"] === id), ...DETAIL },
  "GET applications": () =>
    page(
      jobs
        .filter((job) => job["status"] !== null)
        .map((job) => ({ ...job, posting_id: job["id"], channel: null, applied_on: null })),
    ),
  "GET reminders": () =>
    page([{ id: "1", kind: "reminder", about: "投递截止", on: "2026-12-21", overdue: true }]),
  "POST applications/id/status": moveJob,
  "GET diagnoses": () => page([sample.diagnosis.doc.run]),
  "POST diagnoses": () => {
    isAnswered = false;
    return { run: sample.diagnosis.doc.run };
  },
  "GET diagnoses/id": () => {
    const { doc } = sample.diagnosis;
    if (isAnswered) return doc;
    const run = { ...doc.run, ended_at: null, finding: null };
    const calls = doc.calls.filter((call) => call.round === 0);
    return { run, calls, facts: [], events: [], answer: null, trace: null, cost: null };
  },
  "POST diagnoses/id/cancel": () => ({}),
  "GET tokens": () =>
    page([{ id: "1", name: "CI", scopes: ["read"], expires_at: "2027-01-01", last_used: null }]),
  "POST tokens": () => ({ token: "alfred_1f0c9a5e7b" }),
  "DELETE tokens/id": () => ({}),
};

function decide(id: string, body: Body): unknown {
  const proposal = find(id);
  if (!proposal) return undefined;
  const verdicts = body["verdicts"] as Record<string, Verdict>;
  for (const action of proposal.actions) {
    const said = verdicts[action.id] ?? body["rest"];
    const isGone = action.depends_on.some(
      (ordinal) => proposal.actions[ordinal - 1]?.state === "rejected",
    );
    if (said === "reject" || isGone) action.state = "rejected";
    else if (said === "approve") action.state = "approved";
  }
  if (proposal.actions.every((action) => action.state !== "pending")) {
    for (const action of proposal.actions)
      if (action.state === "approved") action.state = "committed";
    proposal.state = proposal.actions.some((a) => a.state === "committed")
      ? "committed"
      : "rejected";
    const turn = turns.find((each) => each.turn === proposal.turn);
    if (turn) turn.state = "done";
    const job = jobs.find((each) => each["id"] === proposal.turn);
    const status = proposal.actions[0]?.args["status"];
    if (job && proposal.state === "committed" && status !== undefined) job["status"] = status;
  }
  return { proposal, turn: proposal.turn };
}

/** Edit once as asked; every second edit finds that somebody else was quicker. */
function amend(id: string, body: Body): unknown {
  const proposal = find(id);
  if (!proposal) return undefined;
  const edits = body["edits"] as Record<string, Values>;
  const isStale = proposal.revision === 1;
  proposal.revision += 1;
  for (const action of proposal.actions) {
    const edit = isStale
      ? action.ordinal === 1
        ? { website: "https://a.example" }
        : {}
      : edits[action.id];
    if (!edit) continue;
    Object.assign(action.args, edit);
    for (const effect of action.effects.slice(0, 1)) Object.assign(effect.after, edit);
    for (const name of Object.keys(edit))
      action.evidence[name] = { support: "edited", spans: [], quote: "" };
  }
  const copy = structuredClone(proposal);
  if (!isStale) return copy;
  return { status: 409, type: "urn:alfred:error:review.changed", title: "…", proposal: copy };
}

function moveJob(id: string, body: Body): unknown {
  const job = jobs.find((each) => each["id"] === id);
  const proposal: Proposal = {
    ...(structuredClone(sample.proposal) as unknown as Proposal),
    proposal: crypto.randomUUID(),
    turn: id,
    text: "",
  };
  const [first] = proposal.actions;
  if (!first || !job) return undefined;
  const row = `application:${id}`;
  const before: Values = { status: job["status"] ?? null };
  const after = { status: String(body["status"]) };
  const effects = [{ operation: "update" as const, table: "application", row, before, after }];
  proposal.actions = [{ ...first, kind: "record_application", args: after, evidence: {}, effects }];
  proposals.set(proposal.proposal, proposal);
  return proposal;
}

/** Tell what a run would, at the pace of a person's eyes. */
function stream(response: ServerResponse, id: string): void {
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.write(": here\n\n");
  const turn = turns.find((each) => each.turn === id);
  if (!turn && id !== sample.diagnosis.doc.run.id) return;
  const events = turn?.domain === "job" ? readingEvents() : diagnosisEvents();
  const timer = setInterval(() => {
    const event = events.shift();
    if (event?.["type"] === "RUN_FINISHED") {
      isAnswered = true;
      if (turn) turn.state = "waiting";
    }
    if (event) response.write(`data: ${JSON.stringify(event)}\n\n`);
    else clearInterval(timer);
  }, STEP_MS);
  response.on("close", () => {
    clearInterval(timer);
  });
}

async function bodyOf(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as Body;
  } catch {
    return {};
  }
}
