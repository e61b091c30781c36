import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { RunEvent } from "./reading.ts";
import { follow } from "./stream.ts";

/** Keep what the pages show current: whatever process did the work tells of it here. */
export function useUserEvents(isSignedIn: boolean): void {
  const client = useQueryClient();
  useEffect(() => {
    if (!isSignedIn) return;
    const hear = (event: RunEvent) => {
      const id = typeof event["id"] === "string" ? event["id"] : "";
      const lists = event.type === "turn" ? ["turns"] : ["proposals", "turns"];
      for (const key of [...lists, "domain"]) void client.invalidateQueries({ queryKey: [key] });
      // A proposal that is on the screen stays as it was shown until its decision is refused.
      if (event.type === "turn") void client.invalidateQueries({ queryKey: ["turn", id] });
    };
    const catchUp = () => {
      for (const key of ["turns", "turn", "proposals", "domain"])
        void client.invalidateQueries({ queryKey: [key] });
    };
    return follow("/v1/events", hear, catchUp);
  }, [client, isSignedIn]);
}
