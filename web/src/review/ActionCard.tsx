import { type KeyboardEvent, lazy, Suspense, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { ProposedAction, Values, Verdict } from "../api/documents.ts";
import { useKinds } from "../api/queries.ts";
import { useWords } from "../i18n/use_words.ts";
import { Arguments } from "./Arguments.tsx";
import { Effects } from "./Effects.tsx";

// The library of forms is as large as the rest: it is loaded when somebody edits.
const EditForm = lazy(async () => ({ default: (await import("./EditForm.tsx")).EditForm }));

export interface CardProps {
  action: ProposedAction;
  verdict: Verdict | undefined;
  hasFallen: boolean;
  isChanged: boolean;
  isBusy: boolean;
  ordinalOf: (id: string) => number | undefined;
  active: ReadonlySet<string>;
  onPoint: (claims: readonly string[]) => void;
  onVerdict: (action: ProposedAction, verdict: Verdict) => void;
  onEdit: (action: ProposedAction, edits: Values) => Promise<boolean>;
}

/** One action: what it would write, what that rests on, and what a person says of it. */
export function ActionCard(props: CardProps) {
  const { action, verdict, hasFallen, isChanged, onVerdict, onEdit } = props;
  const { t } = useTranslation();
  const words = useWords();
  const kind = useKinds().data?.[action.kind];
  const [isEditing, setEditing] = useState(false);
  const isOpen = action.state === "pending" && !hasFallen;
  const card = useRef<HTMLElement>(null);
  const close = () => {
    card.current?.focus(); // what had the focus goes with the form
    setEditing(false);
  };
  const keys: Record<string, () => void> = {
    a: () => {
      if (action.status === "ready") onVerdict(action, "approve");
    },
    r: () => {
      onVerdict(action, "reject");
    },
    e: () => {
      setEditing(true);
    },
  };
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
            <summary>{summaryOf(action, (operation) => t(`operation.${operation}`))}</summary>
            <Effects effects={action.effects} />
          </details>
          {isOpen && (
            <VerdictButtons
              {...props}
              onOpenForm={() => {
                setEditing(true);
              }}
            />
          )}
        </>
      )}
    </article>
  );
}

function VerdictButtons(props: CardProps & { onOpenForm: () => void }) {
  const { action, verdict, isBusy, onVerdict, onOpenForm } = props;
  const { t } = useTranslation();
  const choose = (said: Verdict) => () => {
    onVerdict(action, said);
  };
  return (
    <div className="verdicts" role="group" aria-label={`${action.ordinal}`}>
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

function summaryOf(action: ProposedAction, name: (operation: "create") => string): string {
  const rows = action.effects.filter((effect) => !["event", "fact"].includes(effect.table));
  const told = rows.map((effect) => name(effect.operation as "create"));
  return told.length === 0 ? "…" : [...new Set(told)].join(", ");
}

/** Say whether rows that exist change: then before and after are shown without asking. */
const changesRows = (action: ProposedAction): boolean =>
  action.effects.some(({ operation }) => operation === "update" || operation === "delete");
