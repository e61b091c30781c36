import { useTranslation } from "react-i18next";
import type { Proposal, Verdict } from "../api/documents.ts";
import { tally, type Verdicts } from "./verdicts.ts";

interface Props {
  proposal: Proposal;
  verdicts: Verdicts;
  isBusy: boolean;
  onDecide: (rest?: Verdict) => void;
}

/** What the verdicts come to, and the buttons that send them. */
export function DecisionBar({ proposal, verdicts, isBusy, onDecide }: Props) {
  const { t } = useTranslation();
  const count = tally(proposal, verdicts);
  const isWhole = count.open === 0;
  const isSaid = count.approved + count.rejected > 0;
  return (
    <div className="decision-bar">
      <p aria-live="polite">
        {t("review.tally", { ...count })}
        {!isWhole && <span className="quiet small"> {t("review.partly")}</span>}
      </p>
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={isBusy || !isSaid}
          onClick={() => {
            onDecide();
          }}
        >
          {isBusy ? t("review.saving") : t("review.decide")}
        </button>
        {!isWhole && (
          <button
            type="button"
            disabled={isBusy}
            onClick={() => {
              onDecide("reject");
            }}
          >
            {t("review.rejectRest")}
          </button>
        )}
      </div>
    </div>
  );
}
