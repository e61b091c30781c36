import type { Me } from "./documents.ts";
import { Problem, readProblem } from "./problem.ts";

const ROOT = "/v1";
const SAFE = "GET";
const NOT_OURS = "access.forgery";

interface Sending {
  method: string;
  path: string;
  body?: unknown;
  /** With it, what is sent twice is done once. */
  key?: string | undefined;
}

/** Speaks HTTP with the server of this page; the session is a cookie that scripts cannot read. */
class Http {
  /** From `GET /me`; every request that changes something carries its proof. */
  me: Pick<Me, "user" | "csrf"> = { user: "", csrf: "" };

  get<Answer>(path: string): Promise<Answer> {
    return this.#send<Answer>({ method: SAFE, path });
  }

  post<Answer>(path: string, body?: unknown, key?: string): Promise<Answer> {
    return this.#send<Answer>({ method: "POST", path, body, key });
  }

  delete(path: string): Promise<unknown> {
    return this.#send<unknown>({ method: "DELETE", path });
  }

  /** Send; where another tab has begun a new session of the same user, with its proof again. */
  async #send<Answer>(sending: Sending): Promise<Answer> {
    try {
      return await this.#once<Answer>(sending);
    } catch (error) {
      const isOld = error instanceof Problem && error.code === NOT_OURS;
      if (!isOld || sending.method === SAFE) throw error;
      const now = await this.#once<Me>({ method: SAFE, path: "/me" }).catch(() => null);
      if (now?.user !== this.me.user || now.csrf === this.me.csrf) throw error;
      this.me = now;
      return await this.#once<Answer>(sending);
    }
  }

  async #once<Answer>({ method, path, body, key }: Sending): Promise<Answer> {
    const headers: Record<string, string> = { Accept: "application/json" };
    const isForm = body instanceof FormData;
    if (method !== SAFE) headers["X-Alfred-CSRF"] = this.me.csrf;
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
