import { lazy } from "react";
import type { DomainPages } from "../registry.ts";
import { en, zh } from "./messages.ts";

export const domain: DomainPages = {
  name: "job",
  routes: [
    { path: "", page: lazy(async () => ({ default: (await import("./Board.tsx")).Board })) },
    { path: ":id", page: lazy(async () => ({ default: (await import("./Posting.tsx")).Posting })) },
  ],
  messages: { zh, en },
};
