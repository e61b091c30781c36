import { useTranslation } from "react-i18next";
import { Cited } from "./Cited.tsx";
import type { Call, Fact } from "./runs.ts";

/** What was claimed, and what checking it against the evidence came to. */
export function Facts({ facts, calls }: { facts: readonly Fact[]; calls: readonly Call[] }) {
  const { t } = useTranslation("diagnosis");
  return (
    <div className="scrolled" tabIndex={0} role="region" aria-label={t("run.facts")}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("fact.id")}</th>
            <th scope="col">{t("fact.role")}</th>
            <th scope="col">{t("fact.says")}</th>
            <th scope="col">{t("fact.evidence")}</th>
            <th scope="col">{t("fact.verdict")}</th>
          </tr>
        </thead>
        <tbody>
          {facts.map((fact) => (
            <tr key={`${fact.round}${fact.id}`} id={`evidence-${fact.id}`}>
              <th scope="row">{fact.id}</th>
              <td>{t(`role.${fact.role as "cause"}`, { defaultValue: fact.role })}</td>
              <td className="words">{fact.fact}</td>
              <td>
                <Cited ids={fact.evidence} calls={calls} facts={[]} />
              </td>
              <td>
                <span className={`badge ${fact.verification}`}>
                  {t(`verification.${fact.verification as "no_evidence"}`, {
                    defaultValue: fact.verification,
                  })}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
