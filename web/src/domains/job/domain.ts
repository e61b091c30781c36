import { lazy } from "react";
import type { DomainPages } from "../registry.ts";
import { en } from "./en.ts";
import { zh } from "./zh.ts";

export const domain: DomainPages = {
  name: "job",
  routes: [
    { path: "", page: lazy(async () => ({ default: (await import("./Board.tsx")).Board })) },
    {
      path: "applications",
      page: lazy(async () => ({ default: (await import("./Applications.tsx")).Applications })),
    },
    { path: ":id", page: lazy(async () => ({ default: (await import("./Posting.tsx")).Posting })) },
  ],
  messages: { zh, en },
};
