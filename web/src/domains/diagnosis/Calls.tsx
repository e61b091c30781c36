import { useTranslation } from "react-i18next";
import type { Call } from "./runs.ts";

/** What tools were asked and what they showed. */
export function Calls({ calls, isOpen }: { calls: readonly Call[]; isOpen: boolean }) {
  const { t } = useTranslation("diagnosis");
  return (
    <div className="calls">
      {calls.map((call) => (
        <details key={call.id} id={`evidence-${call.id}`} open={isOpen && call.lines.length > 0}>
          <summary>
            <span className="ordinal">{call.id}</span>{" "}
            <span className={`badge ${call.outcome}`}>
              {t(`outcome.${call.outcome as "ok"}`, { defaultValue: call.outcome })}
            </span>{" "}
            <span className="words">{call.asked || call.tool}</span>{" "}
            <span className="quiet small">
              {t("run.lines", { count: call.lines.length })}
              {call.truncated && ` · ${t("run.cut")}`}
            </span>
          </summary>
          <p className="quiet small words">{[call.tool, call.where].filter(Boolean).join(" · ")}</p>
          {call.error !== "" && <p className="wrong">{call.error}</p>}
          {call.lines.length > 0 && (
            <pre tabIndex={0} aria-label={call.id}>
              {call.lines.join("\n")}
            </pre>
          )}
        </details>
      ))}
    </div>
  );
}
