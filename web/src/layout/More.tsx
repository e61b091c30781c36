import { useTranslation } from "react-i18next";
import { ProblemNote } from "./ProblemNote.tsx";

interface Props {
  pages: {
    hasNextPage: boolean;
    isFetchingNextPage: boolean;
    isFetchNextPageError: boolean;
    error: Error | null;
    fetchNextPage: () => unknown;
  };
}

/** Asks for the next page of a list, where there is one. */
export function More({ pages }: Props) {
  const { t } = useTranslation();
  if (!pages.hasNextPage) return null;
  return (
    <>
      <ProblemNote error={pages.isFetchNextPageError ? pages.error : null} />
      <button
        type="button"
        disabled={pages.isFetchingNextPage}
        onClick={() => {
          void pages.fetchNextPage();
        }}
      >
        {t("app.more")}
      </button>
    </>
  );
}
