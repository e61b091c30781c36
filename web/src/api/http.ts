import { readProblem } from "./problem.ts";

const ROOT = "/v1";
const SAFE = "GET";

/** Speaks HTTP with the server of this page; the session is a cookie that scripts cannot read. */
class Http {
  /** From `GET /me`; every request that changes something carries it. */
  csrf = "";

  get<Answer>(path: string): Promise<Answer> {
    return this.#send<Answer>(SAFE, path);
  }

  post<Answer>(path: string, body?: unknown, key?: string): Promise<Answer> {
    return this.#send<Answer>("POST", path, body, key);
  }

  delete(path: string): Promise<unknown> {
    return this.#send<unknown>("DELETE", path);
  }

  async #send<Answer>(method: string, path: string, body?: unknown, key?: string): Promise<Answer> {
    const headers: Record<string, string> = { Accept: "application/json" };
    const isForm = body instanceof FormData;
    if (method !== SAFE) headers["X-Alfred-CSRF"] = this.csrf;
    if (body !== undefined && !isForm) headers["Content-Type"] = "application/json";
    if (key !== undefined) headers["Idempotency-Key"] = key;
    const sent = body === undefined ? null : isForm ? body : JSON.stringify(body);
    const answer = await fetch(ROOT + path, { method, headers, body: sent });
    if (!answer.ok) throw await readProblem(answer);
    return (answer.status === 204 ? undefined : await answer.json()) as Answer;
  }
}

export const http = new Http();

/** Write a query string of what is given; empty values are left out. */
export function query(values: Record<string, string | number | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === "" ? "" : `?${text}`;
}
