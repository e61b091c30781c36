import { useTranslation } from "react-i18next";
import type { Turn } from "../api/documents.ts";
import { useWords } from "../i18n/use_words.ts";
import { Value } from "../review/Value.tsx";
import { fieldsOf, latest, type Step } from "./reading.ts";
import { useReading } from "./use_reading.ts";

/**
 * A turn while it runs: the steps taken, and each value as soon as it is read.
 *
 * A browser opens few connections to one server: a page follows one turn and only names others.
 */
export function LiveTurn({ turn, isFollowed = true }: { turn: Turn; isFollowed?: boolean }) {
  const { t } = useTranslation();
  const words = useWords();
  const isRunning = turn.state === "running" || turn.state === "queued";
  const reading = useReading(turn.turn, isRunning && isFollowed);
  const fields = fieldsOf(reading);
  const said = latest(reading, words.node);
  return (
    <div className="live">
      <p className="live-head" role="status">
        <span className="spinner" aria-hidden="true" />
        {t(turn.state === "queued" ? "state.queued" : "conversation.reading")}
        {said !== "" && <span className="quiet small words">{said}</span>}
      </p>
      {reading.steps.length > 0 && <Steps steps={reading.steps} />}
      {fields.length > 0 && (
        <dl className="arguments">
          {fields.map((field) => (
            <div key={`${field.node}${field.pointer}`}>
              <dt>{words.field(nameOf(field.pointer))}</dt>
              <dd>
                <Value name={nameOf(field.pointer)} value={field.value} />{" "}
                {field.evidence && (
                  <span className={`support ${field.evidence.support}`}>
                    {t(`support.${field.evidence.support}`)}
                  </span>
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
      {reading.reply !== "" && <p className="words">{reading.reply}</p>}
    </div>
  );
}

function Steps({ steps }: { steps: readonly Step[] }) {
  const words = useWords();
  return (
    <ol className="steps">
      {steps.map((step, index) => (
        <li key={index} className={step.state}>
          {words.node(step.name)}
        </li>
      ))}
    </ol>
  );
}

/** Name a value by the last word of its pointer: `/requirements/0/text` is a text. */
const nameOf = (pointer: string): string =>
  pointer.split("/").findLast((step) => step !== "" && !/^\d+$/.test(step)) ?? pointer;
