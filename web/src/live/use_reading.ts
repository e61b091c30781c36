import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useReducer } from "react";
import { isOver, NOTHING_READ, read, type Reading, type RunEvent } from "./reading.ts";
import { follow } from "./stream.ts";

type Heard = RunEvent | "begin";

const hear = (reading: Reading, event: Heard): Reading =>
  event === "begin" ? NOTHING_READ : read(reading, event);

/** Follow a run while `isRunning`, and read what became of it as soon as it is over. */
export function useReading(turn: string, isRunning: boolean): Reading {
  const [reading, dispatch] = useReducer(hear, NOTHING_READ);
  const client = useQueryClient();
  const over = isOver(reading);
  useEffect(() => {
    if (!isRunning) return;
    dispatch("begin");
    return follow(`/v1/turns/${turn}/events`, dispatch);
  }, [turn, isRunning]);
  useEffect(() => {
    if (!over) return;
    void client.invalidateQueries({ queryKey: ["turn", turn] });
    void client.invalidateQueries({ queryKey: ["turns"] });
    void client.invalidateQueries({ queryKey: ["proposals"] });
    void client.invalidateQueries({ queryKey: ["domain"] });
  }, [client, over, turn]);
  return reading;
}
