import { useId } from "react";
import type { Call, Fact } from "./runs.ts";

interface Props {
  ids: readonly string[];
  calls: readonly Call[];
  facts: readonly Fact[];
}

const MAX_LINES = 6;

/** Marks what a sentence rests on; pointing at one, or focusing it, shows its words. */
export function Cited({ ids, calls, facts }: Props) {
  const place = useId();
  return (
    <span className="cited">
      {ids.map((id) => (
        <span key={id} className="citation">
          <button
            type="button"
            aria-describedby={`${place}-${id}`}
            onClick={() => {
              document.getElementById(`evidence-${id}`)?.scrollIntoView({ block: "nearest" });
            }}
          >
            {id}
          </button>
          <span role="tooltip" id={`${place}-${id}`} className="tooltip">
            {told(id, calls, facts)}
          </span>
        </span>
      ))}
    </span>
  );
}

function told(id: string, calls: readonly Call[], facts: readonly Fact[]): string {
  const fact = facts.find((each) => each.id === id);
  if (fact) return fact.fact;
  const call = calls.find((each) => each.id === id);
  if (!call) return id;
  return [call.asked, ...call.lines.slice(0, MAX_LINES), call.error].filter(Boolean).join("\n");
}
