import { useTranslation } from "react-i18next";
import type { Proposal, Verdict } from "../api/documents.ts";
import { tally, undecided, type Verdicts } from "./verdicts.ts";

interface Props {
  proposal: Proposal;
  verdicts: Verdicts;
  isBusy: boolean;
  /** Whether a form is open, whose values no decision would take along. */
  isTyping: boolean;
  onRest: (verdict: Verdict) => void;
  onStartOver: () => void;
  onDecide: () => void;
}

/** What the verdicts come to, a word on the rest, and the button that sends them. */
export function DecisionBar(props: Props) {
  const { proposal, verdicts, isBusy, isTyping, onRest, onStartOver, onDecide } = props;
  const { t } = useTranslation();
  const count = tally(proposal, verdicts);
  const rest = undecided(proposal, verdicts);
  const isSaid = count.approved + count.rejected > 0;
  return (
    <div className="decision-bar">
      <p aria-live="polite">
        {t("review.tally", { ...count })}
        {isTyping && <span className="wrong small"> {t("review.typing")}</span>}
        {count.open > 0 && <span className="quiet small"> {t("review.partly")}</span>}
      </p>
      <div className="row">
        <button
          type="button"
          className="primary"
          disabled={isBusy || isTyping || !isSaid}
          onClick={() => {
            onDecide();
          }}
        >
          {isBusy ? t("review.saving") : t("review.decide")}
        </button>
        {rest.some((action) => action.ticked) && (
          <Rest verdict="approve" isBusy={isBusy} onRest={onRest} />
        )}
        {rest.length > 0 && <Rest verdict="reject" isBusy={isBusy} onRest={onRest} />}
        {rest[0] && (
          <button
            type="button"
            onClick={() => {
              document.getElementById(`action-${rest[0]?.id ?? ""}`)?.focus();
            }}
          >
            {t("review.nextOpen")}
          </button>
        )}
        {isSaid && (
          <button type="button" disabled={isBusy} onClick={onStartOver}>
            {t("review.startOver")}
          </button>
        )}
      </div>
    </div>
  );
}

type RestProps = Pick<Props, "isBusy" | "onRest"> & { verdict: Verdict };

function Rest({ verdict, isBusy, onRest }: RestProps) {
  const { t } = useTranslation();
  return (
    <button
      type="button"
      disabled={isBusy}
      onClick={() => {
        onRest(verdict);
      }}
    >
      {t(verdict === "approve" ? "review.approveRest" : "review.rejectRest")}
    </button>
  );
}
