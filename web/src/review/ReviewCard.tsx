import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import type { Proposal } from "../api/documents.ts";
import { when } from "../i18n/moments.ts";
import { ProblemNote } from "../layout/ProblemNote.tsx";
import { ActionCard } from "./ActionCard.tsx";
import { CorrectForm } from "./CorrectForm.tsx";
import { DecisionBar } from "./DecisionBar.tsx";
import { RevisionNote } from "./RevisionNote.tsx";
import { SourceText } from "./SourceText.tsx";
import { useForms } from "./use_forms.ts";
import { useReview } from "./use_review.ts";
import { fallen } from "./verdicts.ts";

const NONE: ReadonlySet<string> = new Set();

/** A proposal beside its source: looked at, edited, decided. */
export function ReviewCard({ proposal }: { proposal: Proposal }) {
  const { t, i18n } = useTranslation();
  const review = useReview(proposal);
  const { shown, verdicts, revision, isBusy } = review;
  const [pointed, setPointed] = useState<readonly string[]>([]);
  const active = useMemo(() => new Set(pointed), [pointed]);
  // A card is told of what is pointed at only where that is its own.
  const activeOf = (id: string) =>
    pointed.some((claim) => claim.startsWith(`${id}.`)) ? active : NONE;
  const falls = useMemo(() => fallen(shown, verdicts), [shown, verdicts]);
  const forms = useForms(shown.actions);
  const isTyping = shown.actions.some(
    ({ id, state }) => state === "pending" && !falls.has(id) && forms.open.has(id),
  );
  const changed = new Set(revision?.changes.map((change) => change.id));
  const ordinalOf = useCallback(
    (id: string) => shown.actions.find((action) => action.id === id)?.ordinal,
    [shown],
  );
  const isPending = shown.state === "pending";
  return (
    <div className="review">
      <section className="review-source">
        <h2>{t("review.source")}</h2>
        <SourceText
          text={shown.text ?? ""}
          actions={shown.actions}
          active={active}
          onPoint={setPointed}
        />
      </section>
      <section className="review-actions">
        <p className="quiet small">
          <span className={`badge ${shown.state}`}>{t(`state.${shown.state}`)}</span>{" "}
          {isPending && t("inbox.until", { when: when(shown.expires_at, i18n.language) })}
        </p>
        {shown.notices.map((notice) => (
          <p key={notice} className="notice">
            {notice}
          </p>
        ))}
        {revision && <RevisionNote revision={revision} />}
        <div className="actions">
          {shown.actions.map((action) => (
            <ActionCard
              key={action.id}
              action={action}
              verdict={action.state === "pending" ? verdicts[action.id] : undefined}
              hasFallen={falls.has(action.id)}
              isChanged={changed.has(action.id)}
              isEditing={forms.open.has(action.id)}
              isBusy={isBusy || !isPending}
              ordinalOf={ordinalOf}
              active={activeOf(action.id)}
              onPoint={setPointed}
              onVerdict={review.say}
              onOpen={forms.set}
              onEdit={review.edit}
            />
          ))}
        </div>
        <ProblemNote error={review.error} />
        <Decided proposal={shown} />
        {isPending && (
          <>
            <p className="quiet small wide-only">{t("review.keys")}</p>
            <DecisionBar
              proposal={shown}
              verdicts={verdicts}
              isBusy={isBusy}
              isTyping={isTyping}
              onRest={review.sayOfRest}
              onStartOver={review.startOver}
              onDecide={review.decide}
            />
            <CorrectForm proposal={shown.proposal} isBusy={isBusy} onCorrect={review.correct} />
          </>
        )}
      </section>
    </div>
  );
}

/** Says what became of a proposal, once something did. */
function Decided({ proposal }: { proposal: Proposal }) {
  const { t } = useTranslation();
  const box = useRef<HTMLDivElement>(null);
  const last = useRef(proposal.state);
  useEffect(() => {
    // The button that had the focus is gone with the decision.
    if (last.current === "pending" && proposal.state !== "pending") box.current?.focus();
    last.current = proposal.state;
  }, [proposal.state]);
  const count = (state: string) => proposal.actions.filter((each) => each.state === state).length;
  const told = [
    count("committed") > 0 && t("review.written", { count: count("committed") }),
    count("rejected") > 0 && t("review.discarded", { count: count("rejected") }),
  ].filter(Boolean);
  return (
    <div role="status" tabIndex={-1} ref={box} className="decided">
      {told.length > 0 && (
        <p className="notice amended">
          {told.join(" ")} <Link to="/">{t("error.home")}</Link>
        </p>
      )}
    </div>
  );
}
