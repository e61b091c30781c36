import { Component, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

/** Stands where a page met an error that nobody thought of. */
export class Crash extends Component<{ children: ReactNode }, { hasCrashed: boolean }> {
  override state = { hasCrashed: false };

  static getDerivedStateFromError() {
    return { hasCrashed: true };
  }

  override render() {
    return this.state.hasCrashed ? <CrashNote /> : this.props.children;
  }
}

function CrashNote() {
  const { t } = useTranslation();
  return (
    <main className="sign-in" role="alert">
      <h1>{t("error.title")}</h1>
      <p>{t("error.crash")}</p>
      <div className="row">
        <button
          type="button"
          onClick={() => {
            window.location.reload();
          }}
        >
          {t("app.retry")}
        </button>
        <a className="button" href="/">
          {t("error.home")}
        </a>
      </div>
    </main>
  );
}
