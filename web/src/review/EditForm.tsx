// Its index also exports what its own tests need, with the validator that compiles schemas.
import Form from "@rjsf/core/lib/components/Form.js";
import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Kind, ProposedAction, Values } from "../api/documents.ts";
import { useWords } from "../i18n/use_words.ts";
import { isReference } from "./changes.ts";
import { editsOf, formSchema, formUi } from "./form_schema.ts";
import { type Filled, formValidator } from "./form_validator.ts";

interface Props {
  action: ProposedAction;
  kind: Kind;
  isBusy: boolean;
  onEdit: (edits: Values) => void;
  onCancel: () => void;
}

/** The form of an action's values, made of its JSON Schema. */
export function EditForm({ action, kind, isBusy, onEdit, onCancel }: Props) {
  const { t } = useTranslation();
  const words = useWords();
  const schema = useMemo(
    () => formSchema(kind.schema, action.args, (name, title) => words.field(name, title)),
    // Labels change with the language only, and then the whole page is drawn anew.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [kind, action],
  );
  const [filled, setFilled] = useState<Filled>(() => valuesOf(action));
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
        formData={filled}
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
          setFilled(change.formData ?? {});
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

function valuesOf(action: ProposedAction): Values {
  const own = Object.entries(action.args).filter(
    ([, value]) => !isReference(value) && value !== null,
  );
  return Object.fromEntries(own);
}
