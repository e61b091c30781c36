import { Suspense } from "react";
import { useTranslation } from "react-i18next";
import { NavLink, Outlet } from "react-router";
import type { Me } from "../api/documents.ts";
import { usePending } from "../api/queries.ts";
import { installed } from "../domains/registry.ts";
import { useUserEvents } from "../live/use_user_events.ts";

/** The frame of every page: navigation, and the page itself. */
export function Shell({ me }: { me: Me }) {
  const { t } = useTranslation();
  const pending = usePending();
  useUserEvents(true);
  const waiting = pending.items.length;
  return (
    <>
      <a className="skip" href="#main">
        {t("app.skip")}
      </a>
      <header className="bar">
        <span className="brand">Alfred</span>
        <nav aria-label={t("app.nav")}>
          <NavLink to="/" end>
            {t("nav.inbox")}
            {waiting > 0 && <span className="count">{waiting}</span>}
          </NavLink>
          <NavLink to="/conversation">{t("nav.conversation")}</NavLink>
          {installed(me.domains).map((domain) => (
            <NavLink key={domain.name} to={`/${domain.name}`}>
              {t("nav", { ns: domain.name })}
            </NavLink>
          ))}
          <NavLink to="/settings">{t("nav.settings")}</NavLink>
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        <Suspense fallback={<p className="quiet">{t("app.loading")}</p>}>
          <Outlet />
        </Suspense>
      </main>
    </>
  );
}
