import { useTranslation } from "react-i18next";
import type { Evidence, Json, ProposedAction } from "../api/documents.ts";
import { useWords } from "../i18n/use_words.ts";
import { isId, isReference } from "./changes.ts";
import { claimOf } from "./evidence.ts";
import { Value } from "./Value.tsx";

interface Props {
  action: ProposedAction;
  ordinalOf: (id: string) => number | undefined;
  active: ReadonlySet<string>;
  onPoint: (claims: readonly string[]) => void;
}

/** An action's values, each with what it rests on; pointing at one shows its words in the source. */
export function Arguments({ action, ordinalOf, active, onPoint }: Props) {
  const { t } = useTranslation();
  const words = useWords();
  return (
    <dl className="arguments">
      {Object.entries(action.args).map(([name, value]) => {
        if (isId(value)) return null; // which row that is stands with the effects
        const claim = claimOf(action.id, name);
        const evidence = action.evidence[name];
        const point = () => {
          onPoint([claim]);
        };
        const leave = () => {
          onPoint([]);
        };
        return (
          <div
            key={name}
            className={active.has(claim) ? "active" : undefined}
            onMouseEnter={point}
            onMouseLeave={leave}
          >
            <dt>{words.field(name)}</dt>
            <dd>
              <Argument name={name} value={value} ordinalOf={ordinalOf} />{" "}
              {evidence && <Support evidence={evidence} onFocus={point} onBlur={leave} />}
            </dd>
          </div>
        );
      })}
      {action.missing.map((name) => (
        <div key={name}>
          <dt>{words.field(name)}</dt>
          <dd className="wrong">______ {t("review.missing")}</dd>
        </div>
      ))}
    </dl>
  );
}

type ArgumentProps = Pick<Props, "ordinalOf"> & { name: string; value: Json };

function Argument({ name, value, ordinalOf }: ArgumentProps) {
  const { t } = useTranslation();
  if (!isReference(value)) return <Value name={name} value={value} />;
  return <em>{t("review.makes", { ordinal: ordinalOf(value.$ref) ?? "?" })}</em>;
}

type SupportProps = { evidence: Evidence; onFocus: () => void; onBlur: () => void };

/** What a value rests on; with words in the source it can be focused, which shows them there. */
function Support({ evidence, onFocus, onBlur }: SupportProps) {
  const { t } = useTranslation();
  const isSaid = evidence.support === "said" && evidence.quote !== "";
  const told = isSaid
    ? t("review.youSaid", { quote: evidence.quote })
    : t(`support.${evidence.support}`);
  const className = `support ${evidence.support}`;
  if (evidence.spans.length === 0) return <span className={className}>{told}</span>;
  return (
    <button
      type="button"
      className={className}
      title={evidence.quote}
      onFocus={onFocus}
      onBlur={onBlur}
    >
      {told}
    </button>
  );
}
