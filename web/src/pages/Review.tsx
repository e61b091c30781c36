import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { Link, useParams } from "react-router";
import type { Proposal } from "../api/documents.ts";
import { proposalQuery, useTurn } from "../api/queries.ts";
import { Answer } from "../layout/Answer.tsx";
import { useTitle } from "../layout/use_title.ts";
import { LiveTurn } from "../live/LiveTurn.tsx";
import { changesBetween } from "../review/changes.ts";
import { ReviewCard } from "../review/ReviewCard.tsx";
import { ChangeList } from "../review/RevisionNote.tsx";

/** One proposal; a correction in words leads on to the proposal that takes its place. */
export function Review() {
  const { t } = useTranslation();
  const { id = "" } = useParams();
  useTitle(t("review.title"));
  const proposal = useQuery(proposalQuery(id));
  return (
    <>
      <h1>{t("review.title")}</h1>
      <Answer of={proposal}>
        {(loaded) => (
          <>
            <ReviewCard key={loaded.proposal} proposal={loaded} />
            <Successor proposal={loaded} />
          </>
        )}
      </Answer>
    </>
  );
}

/** Follows the turn of a proposal that is read again, and shows what came of it. */
function Successor({ proposal }: { proposal: Proposal }) {
  const { t } = useTranslation();
  const turn = useTurn(proposal.turn);
  const next = turn.data?.proposal ?? null;
  const isOther = next !== null && next !== proposal.proposal;
  const following = useQuery({ ...proposalQuery(next ?? ""), enabled: isOther });
  const isRunning = turn.data?.state === "running" || turn.data?.state === "queued";
  if (turn.data && isRunning)
    return (
      <section>
        <h2>{t("review.correcting")}</h2>
        <LiveTurn turn={turn.data} />
      </section>
    );
  if (!isOther || !following.data) return null;
  return (
    <section className="notice" role="status">
      <p>{t("review.corrected")}</p>
      <ChangeList changes={changesBetween(proposal, following.data)} />
      <Link className="button primary" to={`/review/${following.data.proposal}`}>
        {t("review.open")}
      </Link>
    </section>
  );
}
