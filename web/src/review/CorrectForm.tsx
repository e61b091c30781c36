import { useState } from "react";
import { useTranslation } from "react-i18next";

interface Props {
  isBusy: boolean;
  onCorrect: (words: string) => void;
}

/** Says in words what is wrong; what read the text then reads it again. */
export function CorrectForm({ isBusy, onCorrect }: Props) {
  const { t } = useTranslation();
  const [words, setWords] = useState("");
  return (
    <details className="correct">
      <summary>{t("review.correct")}</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onCorrect(words);
        }}
      >
        <label>
          <span className="quiet small">{t("review.correctHint")}</span>
          <textarea
            rows={3}
            maxLength={4000}
            value={words}
            onChange={(event) => {
              setWords(event.target.value);
            }}
          />
        </label>
        <button type="submit" disabled={isBusy || words.trim() === ""}>
          {t("review.correctSend")}
        </button>
      </form>
    </details>
  );
}
