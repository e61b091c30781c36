import { useTranslation } from "react-i18next";
import type { Json } from "../api/documents.ts";
import { useWords } from "../i18n/use_words.ts";
import { isSame } from "./changes.ts";

const ROW_OF = /^[a-z_]+:/;

type Held = Exclude<Json, null | string | number | boolean>;

/** A list as its entries, an object as its names and values. */
function Entries({ name, value }: { name: string; value: Held }) {
  const words = useWords();
  const isList = Array.isArray(value);
  return (
    <ul className="entries">
      {Object.entries(value).map(([key, entry]) => (
        <li key={key}>
          {!isList && <span className="quiet">{words.field(key)} </span>}
          <Value name={isList ? name : key} value={entry} />
        </li>
      ))}
    </ul>
  );
}

/** A value as text; a row's name without the table that it begins with. */
export function Value({ name, value }: { name: string; value: Json | undefined }) {
  const { t } = useTranslation();
  const words = useWords();
  if (value === null || value === undefined || value === "" || isSame(value, []))
    return <span className="quiet">{t("review.empty")}</span>;
  if (typeof value === "object") return <Entries name={name} value={value} />;
  if (typeof value !== "string") return <>{String(value)}</>;
  const shown = name.endsWith("_id") ? value.replace(ROW_OF, "") : words.value(name, value);
  return <span className="words">{shown}</span>;
}
