import { useState } from "react";
import { useTranslation } from "react-i18next";

const LONG_CHARS = 400;
const LONG_LINES = 8;

/** The words of a message; long ones are shown in full when asked for. */
export function Said({ text }: { text: string }) {
  const { t } = useTranslation();
  const isLong = text.length > LONG_CHARS || text.split("\n").length > LONG_LINES;
  const [isWhole, setWhole] = useState(false);
  return (
    <>
      <p className={isLong && !isWhole ? "said clamped" : "said"}>{text}</p>
      {isLong && (
        <button
          type="button"
          className="small"
          aria-expanded={isWhole}
          onClick={() => {
            setWhole(!isWhole);
          }}
        >
          {t(isWhole ? "conversation.less" : "conversation.whole")}
        </button>
      )}
    </>
  );
}
