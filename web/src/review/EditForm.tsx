// Its index also exports what its own tests need, with the validator that compiles schemas.
import Form from "@rjsf/core/lib/components/Form.js";
import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Kind, ProposedAction, Values } from "../api/documents.ts";
import { useWords } from "../i18n/use_words.ts";
import { keepDraft, keptDraft, useUser } from "../layout/drafts.ts";
import { draftOf, editsOf, filledWith, formSchema, formUi } from "./form_schema.ts";
import { type Filled, formValidator } from "./form_validator.ts";

interface Props {
  action: ProposedAction;
  kind: Kind;
  isBusy: boolean;
  onEdit: (edits: Values) => void;
  onCancel: () => void;
}

/**
 * The form of an action's values, made of its JSON Schema.
 *
 * Only what was typed is held: where the action changes meanwhile, the other fields show it.
 */
export function EditForm({ action, kind, isBusy, onEdit, onCancel }: Props) {
  const { t } = useTranslation();
  const words = useWords();
  const schema = useMemo(
    () => formSchema(kind.schema, action.args, (name, title) => words.field(name, title)),
    // Labels change with the language only, and then the whole page is drawn anew.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [kind, action],
  );
  const user = useUser();
  const [typed, setTyped] = useState<Values>(() => {
    const kept = keptDraft(user, draftOf(action));
    return typeof kept === "object" && kept !== null && !Array.isArray(kept) ? kept : {};
  });
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector<HTMLElement>("input, select, textarea")?.focus();
  }, []);
  return (
    <div ref={box}>
      <Form<Filled>
        className="edit-form"
        idPrefix={`edit-${action.id}`}
        schema={schema}
        uiSchema={formUi(schema)}
        formData={filledWith(action.args, typed)}
        validator={formValidator}
        showErrorList={false}
        transformErrors={(errors) =>
          errors.map((error) => ({
            ...error,
            message: t(`form.${error.name as "required"}`, { defaultValue: error.message }),
          }))
        }
        focusOnFirstError
        noHtml5Validate
        onChange={(change) => {
          const edits = editsOf(schema, action.args, (change.formData ?? {}) as Values);
          setTyped(edits);
          keepDraft(user, draftOf(action), Object.keys(edits).length === 0 ? undefined : edits);
        }}
        onSubmit={(sent) => {
          onEdit(editsOf(schema, action.args, (sent.formData ?? {}) as Values));
        }}
      >
        <div className="row">
          <button type="submit" className="primary" disabled={isBusy}>
            {t("review.preview")}
          </button>
          <button type="button" onClick={onCancel}>
            {t("review.cancel")}
          </button>
        </div>
      </Form>
    </div>
  );
}
