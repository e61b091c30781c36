import { useDraggable } from "@dnd-kit/core";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { when } from "../../i18n/moments.ts";
import { type Posting, type Status, STATUSES } from "./postings.ts";

interface Props {
  posting: Posting;
  /** Whether it was moved just now: then it has the focus, in whichever column it stands. */
  isMoved: boolean;
  onMove: (posting: Posting, status: Status) => void;
}

/** A posting on the board; it can be dragged, or moved by the list below it. */
export function PostingCard({ posting, isMoved, onMove }: Props) {
  const { t, i18n } = useTranslation("job");
  const { attributes, listeners, setNodeRef, transform, isDragging } = useDraggable({
    id: posting.id,
    attributes: { roleDescription: t("board.card") },
  });
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (isMoved) link.current?.focus();
  }, [isMoved]);
  const moved = transform
    ? { transform: `translate(${transform.x.toFixed(0)}px, ${transform.y.toFixed(0)}px)` }
    : {};
  return (
    // React sets styles through the DOM, which the content security policy allows.
    <article ref={setNodeRef} className={isDragging ? "posting dragged" : "posting"} style={moved}>
      <div className="handle" {...attributes} {...listeners} aria-label={posting.title}>
        <span aria-hidden="true">⠿</span>
      </div>
      <Link ref={link} className="card-title" to={`/job/${posting.id}`}>
        {posting.title}
      </Link>
      <p className="words">{posting.company}</p>
      <p className="quiet small words">
        {[
          posting.location,
          posting.deadline && t("board.until", { when: when(posting.deadline, i18n.language) }),
          t("board.requirements", { count: posting.requirements }),
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      <select
        className="small"
        aria-label={t("board.move", { title: posting.title })}
        value=""
        onChange={(event) => {
          const status = STATUSES.find((each) => each === event.target.value);
          if (status) onMove(posting, status);
        }}
      >
        <option value="">{t("board.moveTo")}</option>
        {STATUSES.map(
          (status) =>
            status !== null &&
            status !== posting.status && (
              <option key={status} value={status}>
                {t(`values.status.${status}`)}
              </option>
            ),
        )}
      </select>
    </article>
  );
}
