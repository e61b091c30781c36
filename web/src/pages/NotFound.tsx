import { useTranslation } from "react-i18next";
import { Link } from "react-router";

export function NotFound() {
  const { t } = useTranslation();
  return (
    <>
      <h1>{t("error.notFound")}</h1>
      <Link to="/">{t("error.home")}</Link>
    </>
  );
}
