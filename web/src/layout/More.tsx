import { useTranslation } from "react-i18next";

interface Props {
  pages: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown };
}

/** Asks for the next page of a list, where there is one. */
export function More({ pages }: Props) {
  const { t } = useTranslation();
  if (!pages.hasNextPage) return null;
  return (
    <button
      type="button"
      disabled={pages.isFetchingNextPage}
      onClick={() => {
        void pages.fetchNextPage();
      }}
    >
      {t("app.more")}
    </button>
  );
}
