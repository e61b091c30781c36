import { useCallback, useEffect, useState } from "react";
import type { ProposedAction } from "../api/documents.ts";
import { keepDraft, keptDraft, useUser } from "../layout/drafts.ts";
import { draftOf } from "./form_schema.ts";

/** Keep which actions' forms are open; one that something was typed into is so from the start. */
export function useForms(actions: readonly ProposedAction[]) {
  const user = useUser();
  const [open, setOpen] = useState<ReadonlySet<string>>(() => {
    const typed = actions.filter((action) => keptDraft(user, draftOf(action)) !== undefined);
    return new Set(typed.map(({ id }) => id));
  });
  useEffect(() => {
    for (const action of actions)
      if (action.state !== "pending") keepDraft(user, draftOf(action), undefined);
  }, [actions, user]);
  const set = useCallback(
    (action: ProposedAction, isOpen: boolean) => {
      if (!isOpen) keepDraft(user, draftOf(action), undefined);
      setOpen((all) => new Set([...all, action.id].filter((id) => isOpen || id !== action.id)));
    },
    [user],
  );
  return { open, set };
}
