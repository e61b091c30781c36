import { memo, useEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { ProposedAction } from "../api/documents.ts";
import { claimsOf, divide } from "./evidence.ts";

interface Props {
  text: string;
  actions: readonly ProposedAction[];
  /** Claims whose evidence is looked at now. */
  active: ReadonlySet<string>;
  onPoint: (claims: readonly string[]) => void;
}

/** The words of the source; what a value rests on is marked. */
export const SourceText = memo(function SourceText({ text, actions, active, onPoint }: Props) {
  const { t } = useTranslation();
  const box = useRef<HTMLDivElement>(null);
  const pieces = useMemo(() => divide(text, claimsOf(actions)), [text, actions]);
  useEffect(() => {
    box.current?.querySelector("mark.active")?.scrollIntoView({ block: "nearest" });
  }, [active]);
  if (text === "") return <p className="quiet">{t("review.noSource")}</p>;
  return (
    // The text scrolls in itself, so that the keyboard has to reach it.
    <div
      className="source-text"
      ref={box}
      tabIndex={0}
      role="region"
      aria-label={t("review.source")}
    >
      {pieces.map((piece) =>
        piece.claims.length === 0 ? (
          piece.text
        ) : (
          <mark
            key={piece.start}
            className={piece.claims.some((claim) => active.has(claim)) ? "active" : undefined}
            onMouseEnter={() => {
              onPoint(piece.claims);
            }}
            onMouseLeave={() => {
              onPoint([]);
            }}
          >
            {piece.text}
          </mark>
        ),
      )}
    </div>
  );
});
