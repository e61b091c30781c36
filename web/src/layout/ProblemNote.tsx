import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Problem } from "../api/problem.ts";

/** A refusal in the server's own sentence, with its code and what to do. */
export function ProblemNote({ error }: { error: Error | null }) {
  const { t } = useTranslation();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.scrollIntoView({ block: "nearest" });
  }, [error]);
  if (!error) return null;
  const isProblem = error instanceof Problem && !error.isAway;
  return (
    <div className="problem" role="alert" ref={box}>
      <p>{isProblem ? error.message : t("error.offline")}</p>
      {isProblem && error.hint !== "" && <p>{error.hint}</p>}
      {isProblem && error.code !== "" && <code>{error.code}</code>}
    </div>
  );
}
