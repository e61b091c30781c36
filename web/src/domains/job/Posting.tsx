import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Link, useParams } from "react-router";
import { when } from "../../i18n/moments.ts";
import { useWords } from "../../i18n/use_words.ts";
import { Answer } from "../../layout/Answer.tsx";
import { useTitle } from "../../layout/use_title.ts";
import { type PostingDetail, usePosting } from "./postings.ts";
import { WebLink } from "./WebLink.tsx";

/** Everything that is known of one posting, and where it comes from. */
export function Posting() {
  const { t } = useTranslation("job");
  const { id = "" } = useParams();
  const posting = usePosting(id);
  useTitle(posting.data?.title ?? t("board.title"));
  return (
    <>
      <p>
        <Link to="/job">← {t("posting.back")}</Link>
      </p>
      <Answer of={posting}>{(found) => <Detail posting={found} />}</Answer>
    </>
  );
}

function Detail({ posting }: { posting: PostingDetail }) {
  const { t, i18n } = useTranslation("job");
  const words = useWords();
  const moment = (at: string) => when(at, i18n.language);
  const application = posting.application;
  return (
    <>
      <h1 className="words">{posting.title}</h1>
      <p className="words">
        <strong>{posting.company}</strong> {posting.location ?? posting.place}
        {posting.deadline && ` · ${t("board.until", { when: moment(posting.deadline) })}`}
      </p>
      <p className="row">
        {posting.url && <WebLink address={posting.url} />}
        {posting.website && <WebLink address={posting.website} label={t("posting.website")} />}
      </p>
      <section>
        <h2>{t("posting.application")}</h2>
        {application ? (
          <p>
            <span className="badge">{words.value("status", application.status ?? "")}</span>{" "}
            <span className="words">
              {[application.applied_on && moment(application.applied_on), application.channel]
                .filter(Boolean)
                .join(" · ")}
            </span>
          </p>
        ) : (
          <p className="quiet">{t("posting.noApplication")}</p>
        )}
      </section>
      <section>
        <h2>{t("posting.requirements")}</h2>
        {posting.requirements.length === 0 && (
          <p className="quiet">{t("posting.noRequirements")}</p>
        )}
        <Lines of={posting.requirements}>
          {(requirement) => (
            <>
              <span className={`badge ${requirement.importance}`}>
                {words.value("importance", requirement.importance)}
              </span>{" "}
              <span className="words">{requirement.text}</span>{" "}
              <span className="quiet small">{words.value("kind", requirement.kind)}</span>
            </>
          )}
        </Lines>
      </section>
      <Group title={t("posting.interviews")} of={posting.interviews}>
        {(interview) =>
          [
            t("posting.round", { round: interview.round }),
            moment(interview.starts_at),
            words.value("mode", interview.mode ?? ""),
            interview.place,
          ]
            .filter(Boolean)
            .join(" · ")
        }
      </Group>
      <Group title={t("posting.reminders")} of={posting.reminders}>
        {(reminder) => (
          <>
            <span className="words">{reminder.about}</span>{" "}
            <span className="quiet small">
              {reminder.done_at ? t("posting.done") : moment(reminder.due_on)}
            </span>
          </>
        )}
      </Group>
      <Group
        title={t("posting.told")}
        of={posting.provenance.map((each) => ({ ...each, id: each.message_id }))}
      >
        {(told) => (
          <>
            {moment(told.received_at)} {told.source}{" "}
            {told.proposal_id && (
              <Link to={`/review/${told.proposal_id}`}>{t("posting.review")}</Link>
            )}
          </>
        )}
      </Group>
    </>
  );
}

type GroupProps<Item> = { of: readonly Item[]; children: (item: Item) => ReactNode };

/** A titled list; nothing where there is nothing. */
function Group<Item extends { id: string }>({
  title,
  ...list
}: GroupProps<Item> & { title: string }) {
  if (list.of.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <Lines {...list} />
    </section>
  );
}

function Lines<Item extends { id: string }>({ of, children }: GroupProps<Item>) {
  return (
    <ul className="lines">
      {of.map((item) => (
        <li key={item.id}>{children(item)}</li>
      ))}
    </ul>
  );
}
