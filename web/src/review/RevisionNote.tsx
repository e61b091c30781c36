import { useTranslation } from "react-i18next";
import { useWords } from "../i18n/use_words.ts";
import type { ActionChange } from "./changes.ts";
import type { Revision } from "./use_review.ts";
import { Value } from "./Value.tsx";

/** Says why the proposal is another than before, and what is different. */
export function RevisionNote({ revision }: { revision: Revision }) {
  const { t } = useTranslation();
  return (
    <div className={`notice ${revision.why}`} role="status">
      <p>{t(`review.${revision.why}`)}</p>
      <ChangeList changes={revision.changes} />
    </div>
  );
}

/** Lists actions that came, went or changed, with their values before and after. */
export function ChangeList({ changes }: { changes: readonly ActionChange[] }) {
  const { t } = useTranslation();
  const words = useWords();
  return (
    <ul className="changes">
      {changes.map((change) => {
        const what = `${change.ordinal} ${words.kind(change.kind)}`;
        if (change.how !== "changed")
          return <li key={change.id}>{t(`review.${change.how}`, { what })}</li>;
        return (
          <li key={change.id}>
            {what}
            <dl>
              {change.values.map(({ name, before, after }) => (
                <div key={name}>
                  <dt>{fieldOf(name, words)}</dt>
                  <dd>
                    <del>
                      <Value name={name} value={before} />
                    </del>{" "}
                    → <Value name={name} value={after} />
                  </dd>
                </div>
              ))}
            </dl>
          </li>
        );
      })}
    </ul>
  );
}

/** Name a value: an argument, a row (`table`), or a column of one (`table.column`). */
function fieldOf(name: string, words: ReturnType<typeof useWords>): string {
  const [table, column] = name.split(".");
  if (column === undefined) return words.field(name, words.table(name));
  return `${words.table(table ?? "")} · ${words.field(column)}`;
}
