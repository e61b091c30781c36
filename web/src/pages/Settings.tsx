import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Me } from "../api/documents.ts";
import { http } from "../api/http.ts";
import { LANGUAGES, setLanguage } from "../i18n/index.ts";
import { ProblemNote } from "../layout/ProblemNote.tsx";
import { tellSignOut } from "../layout/session.ts";
import { chosenTheme, setTheme, THEMES } from "../layout/theme.ts";
import { useTitle } from "../layout/use_title.ts";
import { Tokens } from "./Tokens.tsx";

const OWN_NAMES = { zh: "中文", en: "English" };

/** Language, colours, tokens, one's records, and the way out. */
export function Settings({ me }: { me: Me }) {
  const { t, i18n } = useTranslation();
  useTitle(t("settings.title"));
  const [theme, choose] = useState(chosenTheme);
  const signOut = useMutation({
    mutationFn: () => http.delete("/session"),
    onSuccess: () => {
      tellSignOut();
      window.location.assign("/sign-in");
    },
  });
  return (
    <>
      <h1>{t("settings.title")}</h1>
      <section>
        <h2>{t("settings.look")}</h2>
        <fieldset className="row">
          <legend>{t("settings.language")}</legend>
          {LANGUAGES.map((language) => (
            <label key={language}>
              <input
                type="radio"
                name="language"
                checked={i18n.language === language}
                onChange={() => {
                  setLanguage(language, true);
                }}
              />{" "}
              {OWN_NAMES[language]}
            </label>
          ))}
        </fieldset>
        <fieldset className="row">
          <legend>{t("settings.theme")}</legend>
          {THEMES.map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="theme"
                checked={theme === each}
                onChange={() => {
                  choose(each);
                  setTheme(each);
                }}
              />{" "}
              {t(`settings.${each}`)}
            </label>
          ))}
        </fieldset>
      </section>
      <Tokens />
      <section>
        <h2>{t("settings.export")}</h2>
        <p className="quiet">{t("settings.exportHow")}</p>
        <div className="row">
          <a className="button" href="/v1/export?format=json" download>
            JSON
          </a>
          <a className="button" href="/v1/export?format=csv" download>
            CSV
          </a>
        </div>
      </section>
      <section>
        <h2>{t("settings.session")}</h2>
        <p>{t("settings.signedIn", { user: me.user })}</p>
        <button
          type="button"
          disabled={signOut.isPending}
          onClick={() => {
            signOut.mutate();
          }}
        >
          {t("settings.signOut")}
        </button>
        <ProblemNote error={signOut.error} />
      </section>
    </>
  );
}
