import { useTranslation } from "react-i18next";
import { Problem } from "../api/problem.ts";

/** A refusal in the server's own sentence, with its code and what to do. */
export function ProblemNote({ error }: { error: Error | null }) {
  const { t } = useTranslation();
  if (!error) return null;
  const isProblem = error instanceof Problem;
  return (
    <div className="problem" role="alert">
      <p>{isProblem ? error.message : t("error.offline")}</p>
      {isProblem && error.hint !== "" && <p>{error.hint}</p>}
      {isProblem && error.code !== "" && <code>{error.code}</code>}
    </div>
  );
}
