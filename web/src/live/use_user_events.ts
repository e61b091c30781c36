import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Me } from "../api/documents.ts";
import { meQuery } from "../api/queries.ts";
import type { RunEvent } from "./reading.ts";
import { follow } from "./stream.ts";

/**
 * Keep what the pages show current: whatever process did the work tells of it here.
 *
 * Says whether the server is heard. A page that is looked at again first asks who is signed in
 * now: nothing else is asked where nobody is, and another user begins with a page of their own.
 */
export function useUserEvents(me: Me): boolean {
  const client = useQueryClient();
  const [isConnected, setConnected] = useState(true);
  const user = me.user;
  useEffect(() => {
    const look = (keys: readonly string[]) => {
      for (const key of keys) void client.invalidateQueries({ queryKey: [key] });
    };
    const hear = (event: RunEvent) => {
      const id = typeof event["id"] === "string" ? event["id"] : "";
      look(event.type === "turn" ? ["turns", "domain"] : ["proposals", "turns", "domain"]);
      // A proposal that is on the screen stays as it was shown until its decision is refused.
      if (event.type === "turn") void client.invalidateQueries({ queryKey: ["turn", id] });
    };
    const catchUp = async () => {
      const now = await client.query({ ...meQuery, staleTime: 0 });
      if (now?.user === user) look(["turns", "turn", "proposals", "domain"]);
      else if (now !== null) window.location.assign("/");
    };
    return follow("/v1/events", hear, {
      onReturn: () => {
        catchUp().catch(() => {
          setConnected(false);
        });
      },
      onState: setConnected,
    });
  }, [client, user]);
  return isConnected;
}
