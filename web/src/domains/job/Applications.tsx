import { lazy, Suspense, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { when } from "../../i18n/moments.ts";
import { useWords } from "../../i18n/use_words.ts";
import { Answer } from "../../layout/Answer.tsx";
import { SortedTable, type SortedColumn } from "../../layout/SortedTable.tsx";
import { useTitle } from "../../layout/use_title.ts";
import { type Application, useApplications, useFunnel } from "./postings.ts";

// The library of charts is large: it is loaded beside the table, not before it.
const FunnelChart = lazy(async () => ({
  default: (await import("./FunnelChart.tsx")).FunnelChart,
}));

/** How far applications got, and each of them in a table that can be sorted. */
export function Applications() {
  const { t } = useTranslation("job");
  useTitle(t("applications.title"));
  const applications = useApplications();
  const funnel = useFunnel();
  return (
    <>
      <p>
        <Link to="/job">← {t("posting.back")}</Link>
      </p>
      <h1>{t("applications.title")}</h1>
      <Answer of={applications}>
        {() =>
          applications.items.length === 0 ? (
            <p className="quiet">{t("applications.nothing")}</p>
          ) : (
            <>
              <section>
                <h2>{t("funnel.title")}</h2>
                <Answer of={funnel}>
                  {(counted) => (
                    <Suspense
                      fallback={<p className="quiet">{t("app.loading", { ns: "translation" })}</p>}
                    >
                      <FunnelChart funnel={counted} />
                    </Suspense>
                  )}
                </Answer>
              </section>
              <section>
                <h2>{t("applications.each")}</h2>
                <Table applications={applications.items} />
              </section>
            </>
          )
        }
      </Answer>
    </>
  );
}

function Table({ applications }: { applications: readonly Application[] }) {
  const { t, i18n } = useTranslation("job");
  const words = useWords();
  const columns = useMemo((): SortedColumn<Application>[] => {
    const day = (at: string | null) => (at === null ? "" : when(at, i18n.language));
    return [
      {
        id: "title",
        title: t("fields.title"),
        value: (row) => row.title,
        cell: (row) => (
          <Link className="words" to={`/job/${row.posting_id}`}>
            {row.title}
          </Link>
        ),
      },
      { id: "company", title: t("fields.company"), value: (row) => row.company },
      {
        id: "status",
        title: t("fields.status"),
        value: (row) => row.status,
        cell: (row) => <span className="badge">{words.value("status", row.status)}</span>,
      },
      {
        id: "applied_on",
        title: t("fields.applied_on"),
        value: (row) => row.applied_on ?? "",
        cell: (row) => day(row.applied_on),
      },
      { id: "channel", title: t("fields.channel"), value: (row) => row.channel ?? "" },
      {
        id: "deadline",
        title: t("fields.deadline"),
        value: (row) => row.deadline ?? "",
        cell: (row) => day(row.deadline),
      },
    ];
    // The names follow the language, of which `i18n.language` tells.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [i18n.language]);
  return (
    <SortedTable
      label={t("applications.each")}
      rows={applications}
      columns={columns}
      idOf={(row) => row.id}
    />
  );
}
