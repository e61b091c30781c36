import {
  type Announcements,
  type CollisionDetection,
  DndContext,
  type DragEndEvent,
  KeyboardSensor,
  PointerSensor,
  pointerWithin,
  rectIntersection,
  type UniqueIdentifier,
  useDroppable,
  useSensor,
  useSensors,
} from "@dnd-kit/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { columnAfter } from "./column_keys.ts";
import { PostingCard } from "./PostingCard.tsx";
import { type Posting, type Status, STATUSES } from "./postings.ts";

const NONE = "none";
const DRAG_PX = 6;
const PIECE = 25;

/** Drop into the column under the pointer; a card held with the keyboard, where it lies most. */
const columnUnder: CollisionDetection = (moved) =>
  moved.pointerCoordinates ? pointerWithin(moved) : rectIntersection(moved);

interface Props {
  postings: readonly Posting[];
  /** Which posting was moved last: in its new column it has the focus. */
  movedId: string | undefined;
  onMove: (posting: Posting, status: Status) => void;
}

/** A column for each status; a card is dragged from one to another, with the mouse or with keys. */
export function Columns({ postings, movedId, onMove }: Props) {
  const { t } = useTranslation("job");
  const sensors = useSensors(
    useSensor(PointerSensor, { activationConstraint: { distance: DRAG_PX } }),
    useSensor(KeyboardSensor, { coordinateGetter: columnAfter }),
  );
  const drop = ({ active, over }: DragEndEvent) => {
    const posting = postings.find((each) => each.id === active.id);
    const status = STATUSES.find((each) => each !== null && each === over?.id);
    if (posting && status) onMove(posting, status);
  };
  return (
    <DndContext
      sensors={sensors}
      collisionDetection={columnUnder}
      accessibility={{
        announcements: useAnnouncements(postings),
        screenReaderInstructions: { draggable: t("board.drag") },
      }}
      onDragEnd={drop}
    >
      <div className="board">
        {STATUSES.map((status) => (
          <Column
            key={status ?? NONE}
            status={status}
            postings={postings.filter((each) => each.status === status)}
            movedId={movedId}
            onMove={onMove}
          />
        ))}
      </div>
    </DndContext>
  );
}

function Column({ status, postings, movedId, onMove }: Props & { status: Status }) {
  const { t } = useTranslation("job");
  const [shown, setShown] = useState(PIECE);
  // An application that was begun cannot become none again.
  const { setNodeRef, isOver } = useDroppable({ id: status ?? NONE, disabled: status === null });
  const title = status === null ? t("board.none") : t(`values.status.${status}`);
  const rest = postings.length - shown;
  return (
    <section ref={setNodeRef} className={isOver ? "column over" : "column"} aria-label={title}>
      <h2>
        {title} <span className={postings.length === 0 ? "quiet" : "count"}>{postings.length}</span>
      </h2>
      {postings.slice(0, shown).map((posting) => (
        <PostingCard
          key={posting.id}
          posting={posting}
          isMoved={posting.id === movedId}
          onMove={onMove}
        />
      ))}
      {rest > 0 && (
        <button
          type="button"
          className="small"
          onClick={() => {
            setShown(shown + PIECE);
          }}
        >
          {t("board.rest", { count: rest })}
        </button>
      )}
    </section>
  );
}

/** Tell a screen reader where a card is held, by its title and the column's. */
function useAnnouncements(postings: readonly Posting[]): Announcements {
  const { t } = useTranslation("job");
  const title = (id: UniqueIdentifier) => postings.find((each) => each.id === id)?.title ?? "";
  const column = (id: UniqueIdentifier | undefined) => {
    const status = STATUSES.find((each) => each !== null && each === id);
    return status ? t(`values.status.${status}`) : t("board.nowhere");
  };
  return {
    onDragStart: ({ active }) => t("board.held", { title: title(active.id) }),
    onDragOver: ({ active, over }) =>
      t("board.over", { title: title(active.id), column: column(over?.id) }),
    onDragEnd: ({ active, over }) =>
      t("board.dropped", { title: title(active.id), column: column(over?.id) }),
    onDragCancel: ({ active }) => t("board.back", { title: title(active.id) }),
  };
}
