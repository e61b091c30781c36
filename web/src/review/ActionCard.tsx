import { type KeyboardEvent, lazy, memo, Suspense, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { ProposedAction, Values, Verdict } from "../api/documents.ts";
import { useKinds } from "../api/queries.ts";
import { useWords } from "../i18n/use_words.ts";
import { Arguments } from "./Arguments.tsx";
import { isRecord } from "./changes.ts";
import { Effects } from "./Effects.tsx";

// The library of forms is as large as the rest: it is loaded when somebody edits.
const EditForm = lazy(async () => ({ default: (await import("./EditForm.tsx")).EditForm }));

export interface CardProps {
  action: ProposedAction;
  verdict: Verdict | undefined;
  hasFallen: boolean;
  isChanged: boolean;
  /** Whether its form is open. */
  isEditing: boolean;
  isBusy: boolean;
  ordinalOf: (id: string) => number | undefined;
  active: ReadonlySet<string>;
  onPoint: (claims: readonly string[]) => void;
  onVerdict: (action: ProposedAction, verdict: Verdict) => void;
  onOpen: (action: ProposedAction, isEditing: boolean) => void;
  onEdit: (action: ProposedAction, edits: Values) => Promise<boolean>;
}

/**
 * One action: what it would write, what that rests on, and what a person says of it.
 *
 * Of hundreds only those are drawn anew that something changed for.
 */
export const ActionCard = memo(function ActionCard(props: CardProps) {
  const { action, verdict, hasFallen, isChanged, isEditing, onVerdict, onOpen, onEdit } = props;
  const { t } = useTranslation();
  const words = useWords();
  const kind = useKinds().data?.[action.kind];
  const isOpen = action.state === "pending" && !hasFallen;
  const card = useRef<HTMLElement>(null);
  const close = () => {
    card.current?.focus(); // what had the focus goes with the form
    onOpen(action, false);
  };
  const keys: Record<string, () => void> = {
    a: () => {
      if (action.status === "ready") onVerdict(action, "approve");
    },
    r: () => {
      onVerdict(action, "reject");
    },
    e: () => {
      if (!props.isBusy) onOpen(action, true);
    },
  };
  const told = action.effects
    .filter((effect) => !isRecord(effect))
    .map(({ operation, table }) =>
      t("review.effect", { table: words.table(table), operation: t(`operation.${operation}`) }),
    );
  const summary = told.length === 0 ? t("review.effects") : [...new Set(told)].join(", ");
  const press = (event: KeyboardEvent<HTMLElement>) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const move = moveOf(event);
    const act = isOpen ? keys[event.key.toLowerCase()] : undefined;
    if (move === null && act === undefined) return;
    event.preventDefault();
    move?.focus();
    act?.();
  };
  return (
    <article
      ref={card}
      id={`action-${action.id}`}
      className={`action ${hasFallen ? "fallen" : (verdict ?? "")} ${action.state}`}
      aria-labelledby={`head-${action.id}`}
      tabIndex={0}
      onKeyDown={press}
    >
      <header>
        <h3 id={`head-${action.id}`}>
          <span className="ordinal">{action.ordinal}</span> {words.kind(action.kind)}
        </h3>
        {isChanged && <span className="badge changed">{t("review.changed")}</span>}
        {action.state !== "pending" && (
          <span className={`badge ${action.state}`}>{t(`state.${action.state}`)}</span>
        )}
        {action.depends_on.length > 0 && action.state === "pending" && (
          <span className="quiet small">
            {t("review.falls", { ordinals: action.depends_on.join(", ") })}
          </span>
        )}
      </header>
      {isEditing && kind && isOpen ? (
        <Suspense fallback={<p className="quiet">{t("app.loading")}</p>}>
          <EditForm
            action={action}
            kind={kind}
            isBusy={props.isBusy}
            onCancel={close}
            onEdit={(edits) => {
              if (Object.keys(edits).length === 0) close();
              else
                void onEdit(action, edits).then((isDone) => {
                  if (isDone) close();
                });
            }}
          />
        </Suspense>
      ) : (
        <>
          <Arguments {...props} />
          {action.problem !== "" && action.missing.length === 0 && (
            <p className="wrong">{t("review.problem", { problem: action.problem })}</p>
          )}
          <details open={isChanged || changesRows(action)}>
            <summary>{summary}</summary>
            <Effects effects={action.effects} />
          </details>
          {isOpen && (
            <VerdictButtons
              {...props}
              onOpenForm={() => {
                onOpen(action, true);
              }}
            />
          )}
        </>
      )}
    </article>
  );
});

function VerdictButtons(props: CardProps & { onOpenForm: () => void }) {
  const { action, verdict, isBusy, onVerdict, onOpenForm } = props;
  const { t } = useTranslation();
  const choose = (said: Verdict) => () => {
    onVerdict(action, said);
  };
  return (
    <div className="verdicts" role="group" aria-labelledby={`head-${action.id}`}>
      <button
        type="button"
        className="approve"
        aria-pressed={verdict === "approve"}
        disabled={action.status !== "ready" || isBusy}
        onClick={choose("approve")}
      >
        ✓ {t("review.approve")}
      </button>
      <button
        type="button"
        className="reject"
        aria-pressed={verdict === "reject"}
        disabled={isBusy}
        onClick={choose("reject")}
      >
        ✕ {t("review.reject")}
      </button>
      <button type="button" disabled={isBusy} onClick={onOpenForm}>
        {t("review.edit")}
      </button>
    </div>
  );
}

/** Find the card that an arrow key leads to. */
function moveOf(event: KeyboardEvent<HTMLElement>): HTMLElement | null {
  const down = event.key === "ArrowDown" || event.key === "j";
  const up = event.key === "ArrowUp" || event.key === "k";
  const card = event.currentTarget;
  const next = down ? card.nextElementSibling : up ? card.previousElementSibling : null;
  return next instanceof HTMLElement ? next : null;
}

/** Say whether rows that exist change: then before and after are shown without asking. */
const changesRows = (action: ProposedAction): boolean =>
  action.effects.some(({ operation }) => operation === "update" || operation === "delete");
