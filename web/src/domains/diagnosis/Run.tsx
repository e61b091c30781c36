import { useMutation } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { Link, useParams } from "react-router";
import { http } from "../../api/http.ts";
import { useGraph, useTurn } from "../../api/queries.ts";
import { when } from "../../i18n/moments.ts";
import { Answer } from "../../layout/Answer.tsx";
import { ProblemNote } from "../../layout/ProblemNote.tsx";
import { useTitle } from "../../layout/use_title.ts";
import { useWords } from "../../i18n/use_words.ts";
import { latest } from "../../live/reading.ts";
import { useReading } from "../../live/use_reading.ts";
import { AnswerText } from "./AnswerText.tsx";
import { Calls } from "./Calls.tsx";
import { Facts } from "./Facts.tsx";
import { PathGraph } from "./PathGraph.tsx";
import { visitsOf } from "./path.ts";
import { type Diagnosis, useRun } from "./runs.ts";

/** One diagnosis, from its first look to the note about it; a run's id is that of its turn. */
export function Run() {
  const { t } = useTranslation("diagnosis");
  const { id = "" } = useParams();
  const diagnosis = useRun(id);
  useTitle(diagnosis.data?.run.question ?? t("ask.title"));
  return (
    <>
      <p>
        <Link to="/diagnosis">← {t("run.back")}</Link>
      </p>
      <Answer of={diagnosis}>{(found) => <Shown diagnosis={found} />}</Answer>
    </>
  );
}

function Shown({ diagnosis }: { diagnosis: Diagnosis }) {
  const { t } = useTranslation("diagnosis");
  const { run, calls, facts, answer } = diagnosis;
  const isOpen = run.ended_at === null;
  const words = useWords();
  const reading = useReading(run.id, isOpen);
  const firstLook = calls.filter((call) => call.round === 0);
  const later = calls.filter((call) => call.round > 0);
  return (
    <>
      <h1 className="words">{run.question}</h1>
      <Head diagnosis={diagnosis} said={latest(reading, words.node)} />
      {answer && (
        <section>
          <h2>{t("run.answer")}</h2>
          <AnswerText of={diagnosis} answer={answer} />
        </section>
      )}
      <Note turn={run.id} />
      <Path diagnosis={diagnosis} steps={reading.steps} />
      {facts.length > 0 && (
        <section>
          <h2>{t("run.facts")}</h2>
          <Facts facts={facts} calls={calls} />
        </section>
      )}
      <section>
        <h2>{t("run.firstLook")}</h2>
        <Calls calls={firstLook} isOpen={isOpen} />
      </section>
      {later.length > 0 && (
        <section>
          <h2>{t("run.evidence")}</h2>
          <Calls calls={later} isOpen={false} />
        </section>
      )}
    </>
  );
}

function Head({ diagnosis, said }: { diagnosis: Diagnosis; said: string }) {
  const { t, i18n } = useTranslation("diagnosis");
  const { run, cost } = diagnosis;
  const cancel = useMutation({
    mutationFn: () => http.post<unknown>(`/diagnoses/${run.id}/cancel`),
  });
  const window = {
    start: when(run.window_start, i18n.language),
    end: when(run.window_end, i18n.language),
  };
  const scope = Object.entries(run.scope).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const seconds = ((cost?.milliseconds ?? 0) / 1000).toFixed(1);
  return (
    <>
      <p className="quiet small words">
        {[t("run.since", window), ...scope, cost && t("run.cost", { calls: cost.calls, seconds })]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {run.ended_at === null && (
        <p className="row">
          <span className="spinner" aria-hidden="true" />
          <span className="words" role="status">
            {said || t("run.open")}
          </span>
          <button
            type="button"
            disabled={cancel.isPending || cancel.isSuccess || run.is_cancelled}
            onClick={() => {
              cancel.mutate();
            }}
          >
            {cancel.isSuccess || run.is_cancelled ? t("run.cancelling") : t("run.cancel")}
          </button>
        </p>
      )}
      <ProblemNote error={cancel.error} />
    </>
  );
}

type PathProps = { diagnosis: Diagnosis; steps: Parameters<typeof visitsOf>[1] };

function Path({ diagnosis, steps }: PathProps) {
  const { t } = useTranslation("diagnosis");
  const graph = useGraph("diagnosis");
  if (!graph.data) return null;
  const visits = visitsOf(diagnosis.events, steps, new Set(graph.data.nodes));
  return (
    <section>
      <h2>{t("run.path")}</h2>
      <PathGraph graph={graph.data} visits={visits} />
      <ol className="steps">
        {visits.map((visit, index) => (
          <li key={index} className={visit.state} title={visit.reason}>
            {t(`nodes.${visit.node as "planner"}`, { defaultValue: visit.node })}{" "}
            {visit.reason !== "" && <code className="small">{visit.reason}</code>}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Leads to the review of the note that the diagnosis proposes. */
function Note({ turn }: { turn: string }) {
  const { t } = useTranslation("diagnosis");
  const found = useTurn(turn);
  if (!found.data?.proposal || found.data.state !== "waiting") return null;
  return (
    <p className="notice row">
      {t("run.note")}{" "}
      <Link className="button primary" to={`/review/${found.data.proposal}`}>
        {t("run.review")}
      </Link>
    </p>
  );
}
