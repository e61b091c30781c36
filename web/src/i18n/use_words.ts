import { useTranslation } from "react-i18next";
import { useKinds } from "../api/queries.ts";
import { domains } from "../domains/registry.ts";

const HAN = /\p{Script=Han}/u;
/** What a value of a list of choices looks like; any other is somebody's words. */
const CHOICE = /^[a-z][a-z_]{0,40}$/;

/** Names of kinds, fields and tables for people: a domain's own, else what the server calls them. */
export function useWords() {
  const { t, i18n } = useTranslation();
  const kinds = useKinds();
  const own = (group: string, name: string): string | undefined => {
    const place = domains.find((domain) => i18n.exists(`${group}.${name}`, { ns: domain.name }));
    return place && t(`${group}.${name}`, { ns: place.name });
  };
  const kind = (name: string): string => {
    const called = kinds.data?.[name]?.called ?? [];
    const isOurs = (word: string) => HAN.test(word) === (i18n.language === "zh");
    return own("kinds", name) ?? called.find(isOurs) ?? spaced(name);
  };
  return {
    kind,
    field: (name: string, title = spaced(name)) => own("fields", name) ?? title,
    domain: (name: string) =>
      i18n.exists("nav", { ns: name }) ? t("nav", { ns: name }) : spaced(name),
    node: (name: string) => own("nodes", name) ?? t(`step.${name}`, { defaultValue: spaced(name) }),
    table: (name: string) => own("tables", name) ?? spaced(name),
    value: (name: string, value: string) =>
      CHOICE.test(value) ? (own(`values.${name}`, value) ?? value) : value,
  };
}

const spaced = (name: string): string => name.replaceAll("_", " ");
