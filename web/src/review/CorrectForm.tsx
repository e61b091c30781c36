import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useDraft } from "../layout/drafts.ts";

interface Props {
  proposal: string;
  isBusy: boolean;
  onCorrect: (words: string) => Promise<boolean>;
}

/** Says in words what is wrong; what read the text then reads it again. */
export function CorrectForm({ proposal, isBusy, onCorrect }: Props) {
  const { t } = useTranslation();
  const [words, setWords] = useDraft(`correct.${proposal}`);
  const [isOpen] = useState(words !== "");
  return (
    <details className="correct" open={isOpen}>
      <summary>{t("review.correct")}</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void onCorrect(words).then((isDone) => {
            if (isDone) setWords("");
          });
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
