import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Cited } from "./Cited.tsx";
import type { Diagnosis, FinalAnswer } from "./runs.ts";

/** The answer, each sentence with what it rests on. */
export function AnswerText({ of, answer }: { of: Diagnosis; answer: Partial<FinalAnswer> }) {
  const { t } = useTranslation("diagnosis");
  const cited = { calls: of.calls, facts: of.facts };
  const checks = (answer.next_checks ?? []).map(checkText);
  return (
    <div className="answer">
      {answer.finding && (
        <span className={`badge ${answer.finding}`}>
          {t(`finding.${answer.finding as "cause"}`)}
        </span>
      )}
      <p className="headline words">{answer.headline}</p>
      {(answer.sentences ?? []).map((sentence, index) => (
        <p key={index} className="words">
          {sentence.text} <Cited ids={[...sentence.facts, ...sentence.evidence]} {...cited} />
        </p>
      ))}
      <List title={t("run.hypotheses")}>
        {(answer.hypotheses ?? []).map((hypothesis) => (
          <li key={hypothesis.fact}>
            {hypothesis.text} <Cited ids={[hypothesis.fact]} {...cited} />
            {hypothesis.missing && <span className="quiet"> {hypothesis.missing}</span>}
          </li>
        ))}
      </List>
      <List title={t("run.missing")}>{texts(answer.missing)}</List>
      <List title={t("run.tried")}>{texts(answer.tried)}</List>
      <List title={t("run.failed")}>{texts(answer.failed)}</List>
      <List title={t("run.next")}>{texts([...(answer.next_steps ?? []), ...checks])}</List>
    </div>
  );
}

function List({ title, children }: { title: string; children: ReactNode[] }) {
  if (children.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul className="words">{children}</ul>
    </>
  );
}

const texts = (lines: readonly string[] = []): ReactNode[] =>
  lines.map((line) => <li key={line}>{line}</li>);

function checkText(check: FinalAnswer["next_checks"][number]): string {
  const given = Object.entries(check.arguments ?? {}).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const asked = [check.tool, ...given].join(" ");
  return check.why ? `${asked}: ${check.why}` : asked;
}
