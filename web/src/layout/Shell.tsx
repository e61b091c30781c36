import { Suspense, useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { NavigationType, NavLink, Outlet, useLocation, useNavigationType } from "react-router";
import type { Me } from "../api/documents.ts";
import { usePending } from "../api/queries.ts";
import { installed } from "../domains/registry.ts";
import { useUserEvents } from "../live/use_user_events.ts";

/** The frame of every page: navigation, and the page itself. */
export function Shell({ me }: { me: Me }) {
  const { t } = useTranslation();
  const pending = usePending();
  const isConnected = useUserEvents(me);
  const main = usePageTurn();
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
            {waiting > 0 && (
              <span className="count">{pending.hasNextPage ? `${waiting}+` : waiting}</span>
            )}
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
      <p role="status" className={isConnected ? "hidden" : "notice disconnected"}>
        {!isConnected && t("error.disconnected")}
      </p>
      <main id="main" tabIndex={-1} ref={main}>
        <Suspense fallback={<p className="quiet">{t("app.loading")}</p>}>
          <Outlet />
        </Suspense>
      </main>
    </>
  );
}

/** Begin another page at its top, with the focus: a screen reader goes on where the page does. */
function usePageTurn() {
  const main = useRef<HTMLElement>(null);
  const { pathname, hash } = useLocation();
  const isBack = useNavigationType() === NavigationType.Pop;
  const last = useRef(pathname);
  useEffect(() => {
    if (last.current === pathname) return;
    last.current = pathname;
    main.current?.focus({ preventScroll: true });
    if (!isBack && hash === "") window.scrollTo(0, 0);
  }, [pathname, hash, isBack]);
  return main;
}
