import { useTranslation } from "react-i18next";
import type { Effect } from "../api/documents.ts";
import { useWords } from "../i18n/use_words.ts";
import { isId, isRecord, isSame, shownColumns } from "./changes.ts";
import { Value } from "./Value.tsx";

/** What an action does to rows, before and after. */
export function Effects({ effects }: { effects: readonly Effect[] }) {
  const { t } = useTranslation();
  const words = useWords();
  const beside = [...new Set(effects.filter(isRecord).map((effect) => effect.table))];
  return (
    <div className="effects">
      {effects
        .filter((effect) => !isRecord(effect))
        .map((effect) => (
          <EffectRows key={`${effect.operation} ${effect.row}`} effect={effect} />
        ))}
      {beside.length > 0 && (
        <p className="quiet small">
          {t("review.records", { tables: beside.map(words.table).join(", ") })}
        </p>
      )}
    </div>
  );
}

/** Name a row as the engine does: by what it says, without its table. */
const nameOfRow = ({ row, table }: Effect): string => row.replace(`${table}:`, "");

function EffectRows({ effect }: { effect: Effect }) {
  const { t } = useTranslation();
  const words = useWords();
  const isUpdate = effect.operation === "update";
  const columns = Object.entries(shownColumns(effect)).filter(
    ([name, value]) =>
      !isId(value) && (isUpdate ? !isSame(value, effect.before[name] ?? null) : value !== null),
  );
  return (
    <div className={`effect ${effect.operation}`}>
      <p className="effect-head">
        <span className="operation">{t(`operation.${effect.operation}`)}</span>{" "}
        {words.table(effect.table)}
        {effect.operation !== "create" && <span className="quiet words"> {nameOfRow(effect)}</span>}
      </p>
      {columns.length > 0 && (
        <dl>
          {columns.map(([name, value]) => (
            <div key={name}>
              <dt>{words.field(name)}</dt>
              <dd>
                {isUpdate && (
                  <>
                    <del>
                      <Value name={name} value={effect.before[name]} />
                    </del>{" "}
                    →{" "}
                  </>
                )}
                <Value name={name} value={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}
