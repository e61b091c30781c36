import { useMutation } from "@tanstack/react-query";
import { type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";
import { Link, useNavigate } from "react-router";
import { http } from "../../api/http.ts";
import { when } from "../../i18n/moments.ts";
import { Answer } from "../../layout/Answer.tsx";
import { useDraft } from "../../layout/drafts.ts";
import { More } from "../../layout/More.tsx";
import { ProblemNote } from "../../layout/ProblemNote.tsx";
import { useTitle } from "../../layout/use_title.ts";
import { type RunRow, useRuns } from "./runs.ts";

/** Asks a question, and lists what was asked before. */
export function Runs() {
  const { t } = useTranslation("diagnosis");
  useTitle(t("ask.title"));
  const runs = useRuns();
  return (
    <>
      <h1>{t("ask.title")}</h1>
      <AskForm />
      <section>
        <h2>{t("ask.earlier")}</h2>
        <Answer of={runs}>
          {() =>
            runs.items.length === 0 ? (
              <p className="quiet">{t("ask.nothing")}</p>
            ) : (
              <ul className="lines">
                {runs.items.map((run) => (
                  <RunLine key={run.id} run={run} />
                ))}
              </ul>
            )
          }
        </Answer>
        <More pages={runs} />
      </section>
    </>
  );
}

function AskForm() {
  const { t } = useTranslation("diagnosis");
  const navigate = useNavigate();
  const [question, setQuestion] = useDraft("diagnosis");
  const ask = useMutation({
    mutationFn: () =>
      http.post<{ run: { id: string } | null; turn?: string }>("/diagnoses", { question }),
    onSuccess: ({ run, turn }) => {
      setQuestion("");
      return navigate(run ? `/diagnosis/${run.id}` : `/conversation#turn-${turn ?? ""}`);
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (question.trim() !== "" && !ask.isPending) ask.mutate();
  };
  return (
    <form className="composer" onSubmit={submit}>
      <label>
        {t("ask.question")}
        <textarea
          rows={3}
          maxLength={8000}
          placeholder={t("ask.placeholder")}
          value={question}
          onChange={(event) => {
            setQuestion(event.target.value);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
          }}
        />
      </label>
      <button type="submit" className="primary" disabled={ask.isPending || question.trim() === ""}>
        {t("ask.ask")}
      </button>
      <ProblemNote error={ask.error} />
    </form>
  );
}

function RunLine({ run }: { run: RunRow }) {
  const { t, i18n } = useTranslation("diagnosis");
  const ended = run.finding ? t(`finding.${run.finding as "cause"}`) : run.terminal_reason;
  return (
    <li>
      <span className={`badge ${run.finding ?? (run.ended_at ? "failed" : "running")}`}>
        {ended ?? t("run.open")}
      </span>{" "}
      <Link className="words" to={`/diagnosis/${run.id}`}>
        {run.question}
      </Link>{" "}
      <span className="quiet small">{when(run.began_at, i18n.language)}</span>
    </li>
  );
}
