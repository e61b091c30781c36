import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import type { Proposal, Turn } from "../api/documents.ts";
import { usePending, useTurns } from "../api/queries.ts";
import { when } from "../i18n/moments.ts";
import { useWords } from "../i18n/use_words.ts";
import { Answer } from "../layout/Answer.tsx";
import { More } from "../layout/More.tsx";
import { useTitle } from "../layout/use_title.ts";
import { LiveTurn } from "../live/LiveTurn.tsx";
import { isId } from "../review/changes.ts";

const RECENT = 5;
const TITLE_CHARS = 120;

/** What waits for a person, and what is being read. */
export function Inbox() {
  const { t } = useTranslation();
  useTitle(t("inbox.title"));
  const pending = usePending();
  const turns = useTurns();
  const running = turns.items.filter((turn) => ["running", "queued"].includes(turn.state));
  const recent = turns.items.filter((turn) => ["done", "failed"].includes(turn.state));
  return (
    <>
      <h1>{t("inbox.title")}</h1>
      {running.length > 0 && (
        <section>
          <h2>{t("inbox.running")}</h2>
          {running.map((turn, index) => (
            <LiveTurn key={turn.turn} turn={turn} isFollowed={index === 0} />
          ))}
        </section>
      )}
      <section>
        <h2>{t("inbox.waiting")}</h2>
        <Answer of={pending}>
          {() =>
            pending.items.length > 0 ? (
              <ul className="cards">
                {pending.items.map((proposal) => (
                  <Waiting key={proposal.proposal} proposal={proposal} />
                ))}
              </ul>
            ) : (
              <p className="quiet">
                {t("inbox.nothing")} <Link to="/conversation">{t("inbox.start")}</Link>
              </p>
            )
          }
        </Answer>
        <More pages={pending} />
      </section>
      {recent.length > 0 && (
        <section>
          <h2>{t("inbox.recent")}</h2>
          <ul className="lines">
            {recent.slice(0, RECENT).map((turn) => (
              <Done key={turn.turn} turn={turn} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Waiting({ proposal }: { proposal: Proposal }) {
  const { t, i18n } = useTranslation();
  const words = useWords();
  const kinds = [...new Set(proposal.actions.map((action) => words.kind(action.kind)))];
  const named = proposal.actions
    .flatMap((action) => Object.values(action.args))
    .find((value): value is string => typeof value === "string" && !isId(value));
  return (
    <li className="card">
      <Link className="card-title" to={`/review/${proposal.proposal}`}>
        {firstLine(proposal.text) || (named ?? kinds.join(" · "))}
      </Link>
      <p className="small">{kinds.join(" · ")}</p>
      <p className="quiet small">
        {t("inbox.actions", { count: proposal.actions.length })} ·{" "}
        {t("inbox.until", { when: when(proposal.expires_at, i18n.language) })}
      </p>
    </li>
  );
}

function Done({ turn }: { turn: Turn }) {
  const { t, i18n } = useTranslation();
  return (
    <li>
      <span className={`badge ${turn.state}`}>{t(`state.${turn.state}`)}</span>{" "}
      <Link to={`/conversation#turn-${turn.turn}`}>
        {firstLine(turn.text) || when(turn.received_at, i18n.language)}
      </Link>{" "}
      <span className="quiet small">{turn.problem ?? when(turn.received_at, i18n.language)}</span>
    </li>
  );
}

/** Give how words begin, as a title: no more than a line, and no half of a character. */
function firstLine(text: string | undefined): string {
  const line = Array.from((text ?? "").trim().split("\n", 1)[0] ?? "");
  const cut = line.slice(0, TITLE_CHARS).join("");
  return line.length > TITLE_CHARS ? `${cut}…` : cut;
}
