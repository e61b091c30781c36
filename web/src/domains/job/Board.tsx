import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import type { Proposal } from "../../api/documents.ts";
import { http } from "../../api/http.ts";
import { Answer } from "../../layout/Answer.tsx";
import { ProblemNote } from "../../layout/ProblemNote.tsx";
import { useTitle } from "../../layout/use_title.ts";
import { Columns } from "./Columns.tsx";
import { ConfirmMove } from "./ConfirmMove.tsx";
import { fitting, type Posting, type Status, usePostings } from "./postings.ts";
import { Reminders } from "./Reminders.tsx";

/** A posting that is about to stand elsewhere. */
interface Move {
  posting: Posting;
  status: Exclude<Status, null>;
}

/** Every posting in the column of its application; a move is proposed and has to be confirmed. */
export function Board() {
  const { t } = useTranslation("job");
  useTitle(t("board.title"));
  const postings = usePostings();
  const [words, setWords] = useState("");
  const [proposal, setProposal] = useState<Proposal | null>(null);
  const [said, setSaid] = useState("");
  const move = useMutation({
    mutationFn: ({ posting, status }: Move) =>
      http.post<Proposal>(`/applications/${posting.id}/status`, { status }),
    onSuccess: setProposal,
  });
  const moved = move.variables;
  const status = moved && t(`values.status.${moved.status}`);
  const close = (isWritten: boolean) => {
    setProposal(null);
    setSaid(isWritten && moved ? t("board.moved", { title: moved.posting.title, status }) : "");
  };
  return (
    <>
      <h1>{t("board.title")}</h1>
      <p role="status" className="hidden">
        {said}
      </p>
      <Reminders />
      <Answer of={postings}>
        {() =>
          postings.items.length === 0 ? (
            <p className="quiet">
              {t("board.nothing")} <Link to="/conversation">{t("board.paste")}</Link>
            </p>
          ) : (
            <>
              <div className="row board-head">
                <input
                  type="search"
                  aria-label={t("board.find")}
                  placeholder={t("board.find")}
                  value={words}
                  onChange={(event) => {
                    move.reset(); // or the moved card would take the focus back
                    setWords(event.target.value);
                  }}
                />
                <Link className="button" to="/job/applications">
                  {t("applications.title")}
                </Link>
                <span className="quiet small wide-only">{t("board.drag")}</span>
              </div>
              {postings.hasNextPage && <p className="quiet">{t("board.more")}</p>}
              <ProblemNote error={move.error ?? postings.error} />
              <Columns
                postings={fitting(postings.items, words)}
                movedId={proposal ? undefined : moved?.posting.id}
                onMove={(posting, to) => {
                  if (to !== null && to !== posting.status && !move.isPending)
                    move.mutate({ posting, status: to });
                }}
              />
            </>
          )
        }
      </Answer>
      {proposal && moved && (
        <ConfirmMove
          proposal={proposal}
          what={`${moved.posting.title} · ${moved.posting.company} → ${status ?? ""}`}
          onClose={close}
        />
      )}
    </>
  );
}
