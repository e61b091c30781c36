import { useEffect, useLayoutEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Proposal, Verdict } from "../../api/documents.ts";
import { ProblemNote } from "../../layout/ProblemNote.tsx";
import { Effects } from "../../review/Effects.tsx";
import { RevisionNote } from "../../review/RevisionNote.tsx";
import { useReview } from "../../review/use_review.ts";

interface Props {
  proposal: Proposal;
  /** The move in words. */
  what: string;
  onClose: (isWritten: boolean) => void;
}

/** Shows what a move would write, and writes it only when it is confirmed. */
export function ConfirmMove({ proposal, what, onClose }: Props) {
  const { t } = useTranslation("job");
  const box = useRef<HTMLDialogElement>(null);
  const review = useReview(proposal);
  const { shown } = review;
  useLayoutEffect(() => {
    const dialog = box.current;
    dialog?.showModal();
    // Closed, and not only taken away, it gives the focus back to where it was.
    return () => dialog?.close();
  }, []);
  const { state } = shown;
  useEffect(() => {
    if (state !== "pending") onClose(state === "committed" || state === "approved");
    // The answer is told once, however often the board is drawn meanwhile.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [state]);
  const say = (verdict: Verdict) => () => {
    review.decideAll(verdict);
  };
  const isReady = shown.actions.every((action) => action.status === "ready");
  const later = () => {
    onClose(false);
  };
  return (
    <dialog ref={box} aria-labelledby="confirm-title" onCancel={later}>
      <h2 id="confirm-title">{t("confirm.title")}</h2>
      <p className="words">{what}</p>
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
        <button type="button" disabled={review.isBusy} onClick={later}>
          {t("confirm.later")}
        </button>
      </div>
    </dialog>
  );
}
