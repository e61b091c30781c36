import type { Proposal, Values } from "./documents.ts";

/** A refusal of the server, as RFC 9457 has it; `code` is one of docs/errors.md. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string;
  /** What is proposed now, where a decision named a digest that is no longer current. */
  readonly proposal: Proposal | null;

  constructor(status: number, body: Values) {
    const type = typeof body["type"] === "string" ? body["type"] : "";
    const words = [body["detail"], body["title"]].find((each) => typeof each === "string");
    super(typeof words === "string" ? words : `HTTP ${status}`);
    this.name = "Problem";
    this.status = status;
    this.code =
      typeof body["code"] === "string" ? body["code"] : type.replace("urn:alfred:error:", "");
    this.hint = typeof body["hint"] === "string" ? body["hint"] : "";
    this.proposal = (body["proposal"] as Proposal | undefined) ?? null;
  }

  /** Whether not the server answered but what stands before it, such as a proxy. */
  get isAway(): boolean {
    return this.code === "" && this.status >= 500;
  }
}

/** Read the problem of an answer; one that is no JSON keeps its status. */
export async function readProblem(answer: Response): Promise<Problem> {
  try {
    return new Problem(answer.status, (await answer.json()) as Values);
  } catch {
    return new Problem(answer.status, { title: `${answer.status} ${answer.statusText}` });
  }
}
