import { lazy } from "react";
import type { DomainPages } from "../registry.ts";
import { en, zh } from "./messages.ts";

export const domain: DomainPages = {
  name: "diagnosis",
  routes: [
    { path: "", page: lazy(async () => ({ default: (await import("./Runs.tsx")).Runs })) },
    { path: ":id", page: lazy(async () => ({ default: (await import("./Run.tsx")).Run })) },
  ],
  messages: { zh, en },
};
