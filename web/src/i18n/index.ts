import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { domains } from "../domains/registry.ts";
import { en } from "./en.ts";
import { zh } from "./zh.ts";

export const LANGUAGES = ["zh", "en"] as const;
export type Language = (typeof LANGUAGES)[number];

const KEY = "alfred.language";

/** Give the language that was chosen here, else the browser's. */
function startingLanguage(): Language {
  const kept = localStorage.getItem(KEY);
  if (kept === "zh" || kept === "en") return kept;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

/** Say whether a person chose a language here; else the server's setting decides. */
export const hasChosenLanguage = (): boolean => localStorage.getItem(KEY) !== null;

/** Show the pages in a language; `keep` remembers it in this browser. */
export function setLanguage(language: Language, keep: boolean): void {
  if (keep) localStorage.setItem(KEY, language);
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  void i18next.changeLanguage(language);
}

export function startLanguages(): void {
  const own = (language: Language) =>
    Object.fromEntries(domains.map((domain) => [domain.name, domain.messages[language]]));
  void i18next.use(initReactI18next).init({
    resources: {
      en: { translation: en, ...own("en") },
      zh: { translation: zh, ...own("zh") },
    },
    fallbackLng: "en",
    interpolation: { escapeValue: false }, // React renders text as text
  });
  setLanguage(startingLanguage(), false);
}
