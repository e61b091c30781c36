import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Proposal, Verdict } from "../../api/documents.ts";
import { ProblemNote } from "../../layout/ProblemNote.tsx";
import { Effects } from "../../review/Effects.tsx";
import { RevisionNote } from "../../review/RevisionNote.tsx";
import { useReview } from "../../review/use_review.ts";

/** Shows what a move would write, and writes it only when it is confirmed. */
export function ConfirmMove({ proposal, onClose }: { proposal: Proposal; onClose: () => void }) {
  const { t } = useTranslation("job");
  const box = useRef<HTMLDialogElement>(null);
  const review = useReview(proposal);
  const { shown } = review;
  useEffect(() => {
    box.current?.showModal();
  }, []);
  const isDecided = shown.state !== "pending";
  useEffect(() => {
    if (isDecided) onClose();
  }, [isDecided, onClose]);
  const say = (verdict: Verdict) => () => {
    review.decideAll(verdict);
  };
  const isReady = shown.actions.every((action) => action.status === "ready");
  return (
    <dialog ref={box} aria-labelledby="confirm-title" onClose={onClose}>
      <h2 id="confirm-title">{t("confirm.title")}</h2>
      {review.revision && <RevisionNote revision={review.revision} />}
      {shown.actions.map((action) => (
        <div key={action.id}>
          {action.problem !== "" && <p className="wrong">{action.problem}</p>}
          <Effects effects={action.effects} />
        </div>
      ))}
      <ProblemNote error={review.error} />
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={!isReady || review.isBusy}
          onClick={say("approve")}
        >
          {t("confirm.yes")}
        </button>
        <button type="button" disabled={review.isBusy} onClick={say("reject")}>
          {t("confirm.no")}
        </button>
      </div>
    </dialog>
  );
}
