import { useTranslation } from "react-i18next";
import { Link } from "react-router";
import { when } from "../../i18n/moments.ts";
import { useReminders } from "./postings.ts";

/** What is due, if anything is. */
export function Reminders() {
  const { t, i18n } = useTranslation("job");
  const reminders = useReminders();
  if (reminders.items.length === 0) return null;
  return (
    <details className="notice">
      <summary>
        {t("board.due")} <span className="count">{reminders.items.length}</span>
      </summary>
      <ul className="lines">
        {reminders.items.map((due) => (
          <li key={due.id}>
            {due.posting_id ? (
              <Link className="words" to={`/job/${due.posting_id}`}>
                {due.about}
              </Link>
            ) : (
              <span className="words">{due.about}</span>
            )}{" "}
            <span className={due.overdue ? "wrong small" : "quiet small"}>
              {when(due.on, i18n.language)}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}
