import { useTranslation } from "react-i18next";
import type { Json } from "../api/documents.ts";
import { useWords } from "../i18n/use_words.ts";

const ROW_OF = /^[a-z_]+:/;

/** A value as text; a row's name without the table that it begins with. */
export function Value({ name, value }: { name: string; value: Json | undefined }) {
  const { t } = useTranslation();
  const words = useWords();
  if (value === null || value === undefined || value === "")
    return <span className="quiet">{t("review.empty")}</span>;
  if (typeof value === "object") return <code>{JSON.stringify(value)}</code>;
  if (typeof value !== "string") return <>{String(value)}</>;
  const shown = name.endsWith("_id") ? value.replace(ROW_OF, "") : words.value(name, value);
  return <span className="words">{shown}</span>;
}
