import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { ProblemNote } from "./ProblemNote.tsx";

type Asked = Pick<UseQueryResult, "error" | "refetch">;
type Props<Data> = { of: Asked & { data: Data | undefined }; children: (data: Data) => ReactNode };

/** Shows what was asked for: loading, refused, or there. */
export function Answer<Data>({ of, children }: Props<Data>) {
  const { t } = useTranslation();
  if (of.data !== undefined) return <>{children(of.data)}</>;
  if (!of.error) return <p className="quiet">{t("app.loading")}</p>;
  return (
    <>
      <ProblemNote error={of.error} />
      <button type="button" onClick={() => void of.refetch()}>
        {t("app.retry")}
      </button>
    </>
  );
}
