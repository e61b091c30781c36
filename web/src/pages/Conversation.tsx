import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { Link, useLocation } from "react-router";
import type { Me, Turn } from "../api/documents.ts";
import { http } from "../api/http.ts";
import { useTurn, useTurns } from "../api/queries.ts";
import { when } from "../i18n/moments.ts";
import { Answer } from "../layout/Answer.tsx";
import { More } from "../layout/More.tsx";
import { ProblemNote } from "../layout/ProblemNote.tsx";
import { useTitle } from "../layout/use_title.ts";
import { LiveTurn } from "../live/LiveTurn.tsx";
import { Composer } from "./Composer.tsx";
import { Said } from "./Said.tsx";

/** What was said, the newest at the top, each message with what became of it. */
export function Conversation({ me }: { me: Me }) {
  const { t } = useTranslation();
  useTitle(t("conversation.title"));
  const turns = useTurns();
  const followed = turns.items.find((turn) => ["running", "queued"].includes(turn.state));
  const { hash } = useLocation();
  const isLoaded = turns.data !== undefined;
  useEffect(() => {
    if (isLoaded && hash) document.getElementById(hash.slice(1))?.scrollIntoView();
  }, [hash, isLoaded]);
  return (
    <>
      <h1>{t("conversation.title")}</h1>
      <Composer domains={me.domains} />
      <Answer of={turns}>
        {() =>
          turns.items.length === 0 ? (
            <p className="quiet">{t("conversation.nothing")}</p>
          ) : (
            turns.items.map((turn) => (
              <Message key={turn.turn} listed={turn} isFollowed={turn === followed} />
            ))
          )
        }
      </Answer>
      <More pages={turns} />
    </>
  );
}

/** One message; its own document has the words and the reply, and is newer than the list. */
function Message({ listed, isFollowed }: { listed: Turn; isFollowed: boolean }) {
  const { t, i18n } = useTranslation();
  const loaded = useTurn(listed.turn);
  const turn = loaded.data ?? listed;
  const isRunning = turn.state === "running" || turn.state === "queued";
  return (
    <article className="message" id={`turn-${turn.turn}`}>
      <header className="quiet small">
        {when(turn.received_at, i18n.language)}
        {turn.source !== null && <span> · {turn.source}</span>}{" "}
        <span className={`badge ${turn.state}`}>{t(`state.${turn.state}`)}</span>
      </header>
      <Said text={turn.text ?? ""} />
      {isRunning ? <LiveTurn turn={turn} isFollowed={isFollowed} /> : <Outcome turn={turn} />}
    </article>
  );
}

function Outcome({ turn }: { turn: Turn }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const again = useMutation({
    mutationFn: () => http.post<unknown>(`/turns/${turn.turn}/again`),
    onSuccess: () => client.invalidateQueries({ queryKey: ["turns"] }),
  });
  const problems = [...new Set([turn.problem ?? "", ...(turn.problems ?? [])])].filter(Boolean);
  return (
    <div className="outcome">
      {turn.reply && <p className="words">{turn.reply}</p>}
      {problems.map((problem) => (
        <p key={problem} className="wrong">
          {problem}
        </p>
      ))}
      <div className="row">
        {turn.proposal && (
          <Link
            className={turn.state === "waiting" ? "button primary" : "button"}
            to={`/review/${turn.proposal}`}
          >
            {t("review.open")}
          </Link>
        )}
        {turn.state === "failed" && (
          <button
            type="button"
            disabled={again.isPending}
            onClick={() => {
              again.mutate();
            }}
          >
            {t("conversation.again")}
          </button>
        )}
      </div>
      <ProblemNote error={again.error} />
    </div>
  );
}
