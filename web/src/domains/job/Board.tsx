import {
  type CollisionDetection,
  DndContext,
  type DragEndEvent,
  KeyboardSensor,
  PointerSensor,
  pointerWithin,
  rectIntersection,
  useDroppable,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Proposal } from "../../api/documents.ts";
import { http } from "../../api/http.ts";
import { Answer } from "../../layout/Answer.tsx";
import { More } from "../../layout/More.tsx";
import { ProblemNote } from "../../layout/ProblemNote.tsx";
import { useTitle } from "../../layout/use_title.ts";
import { columnAfter } from "./column_keys.ts";
import { ConfirmMove } from "./ConfirmMove.tsx";
import { PostingCard } from "./PostingCard.tsx";
import { type Posting, type Status, STATUSES, usePostings } from "./postings.ts";
import { Reminders } from "./Reminders.tsx";

const NONE = "none";
const DRAG_PX = 6;

/** Drop into the column under the pointer; a card held with the keyboard, where it lies most. */
const columnUnder: CollisionDetection = (moved) =>
  moved.pointerCoordinates ? pointerWithin(moved) : rectIntersection(moved);

/** Every posting in the column of its application; a move is proposed and has to be confirmed. */
export function Board() {
  const { t } = useTranslation("job");
  useTitle(t("board.title"));
  const postings = usePostings();
  const [proposal, setProposal] = useState<Proposal | null>(null);
  const move = useMutation({
    mutationFn: ({ id, status }: { id: string; status: Status }) =>
      http.post<Proposal>(`/applications/${id}/status`, { status }),
    onSuccess: setProposal,
  });
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: DRAG_PX } }),
    useSensor(KeyboardSensor, { coordinateGetter: columnAfter }),
  );
  const moveTo = (posting: Posting, status: Status) => {
    if (status !== null && status !== posting.status) move.mutate({ id: posting.id, status });
  };
  const drop = ({ active, over }: DragEndEvent) => {
    const posting = postings.items.find((each) => each.id === active.id);
    const status = STATUSES.find((each) => each !== null && each === over?.id);
    if (posting && status) moveTo(posting, status);
  };
  return (
    <>
      <h1>{t("board.title")}</h1>
      <Reminders />
      <ProblemNote error={move.error} />
      <Answer of={postings}>
        {() =>
          postings.items.length === 0 ? (
            <p className="quiet">{t("board.nothing")}</p>
          ) : (
            <DndContext sensors={sensors} collisionDetection={columnUnder} onDragEnd={drop}>
              <p className="quiet small wide-only">{t("board.drag")}</p>
              <div className="board">
                {STATUSES.map((status) => (
                  <Column
                    key={status ?? NONE}
                    status={status}
                    postings={postings.items.filter((each) => each.status === status)}
                    onMove={moveTo}
                  />
                ))}
              </div>
            </DndContext>
          )
        }
      </Answer>
      <More pages={postings} />
      {proposal && (
        <ConfirmMove
          proposal={proposal}
          onClose={() => {
            setProposal(null);
          }}
        />
      )}
    </>
  );
}

interface ColumnProps {
  status: Status;
  postings: readonly Posting[];
  onMove: (posting: Posting, status: Status) => void;
}

function Column({ status, postings, onMove }: ColumnProps) {
  const { t } = useTranslation("job");
  // An application that was begun cannot become none again.
  const { setNodeRef, isOver } = useDroppable({ id: status ?? NONE, disabled: status === null });
  const title = status === null ? t("board.none") : t(`values.status.${status}`);
  return (
    <section ref={setNodeRef} className={isOver ? "column over" : "column"} aria-label={title}>
      <h2>
        {title} <span className="count">{postings.length}</span>
      </h2>
      {postings.map((posting) => (
        <PostingCard key={posting.id} posting={posting} onMove={onMove} />
      ))}
    </section>
  );
}
