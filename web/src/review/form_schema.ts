import type { RJSFSchema, UiSchema } from "@rjsf/utils";
import type { Json, ProposedAction, Values } from "../api/documents.ts";
import { isReference, isSame } from "./changes.ts";

const LONG_TEXT = 300;

/**
 * Make an action's JSON Schema into that of its edit form.
 *
 * A value that may be null becomes an input that may be empty; what refers to another action, and
 * what is an id, is no matter of a form. `label` names a field for people.
 */
export function formSchema(
  schema: Values,
  args: Values,
  label: (name: string, title: string) => string,
): RJSFSchema {
  const properties = asValues(schema["properties"]);
  const shown = Object.entries(properties).filter(
    ([name, field]) => !isReference(args[name]) && plain(asValues(field))["format"] !== "uuid",
  );
  const fields = shown.map(([name, field]) => {
    const one = plain(asValues(field));
    const title = typeof one["title"] === "string" ? one["title"] : name;
    return [name, { ...one, title: label(name, title) }] as const;
  });
  const names = new Set(shown.map(([name]) => name));
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  return {
    ...(schema["$defs"] === undefined ? {} : { $defs: schema["$defs"] }),
    type: "object",
    properties: Object.fromEntries(fields),
    required: required.filter((name) => typeof name === "string" && names.has(name)),
  } as RJSFSchema;
}

/** Say which fields want more than a line. */
export function formUi(schema: RJSFSchema): UiSchema {
  const long = Object.entries(schema.properties ?? {}).filter(([, field]) => {
    const max = typeof field === "object" ? field.maxLength : undefined;
    return (
      typeof field === "object" && field.type === "string" && max !== undefined && max > LONG_TEXT
    );
  });
  return {
    "ui:submitButtonOptions": { norender: true },
    ...Object.fromEntries(long.map(([name]) => [name, { "ui:widget": "textarea" }])),
  };
}

/** Name the place where what is typed into an action's form is kept until it is sent. */
export const draftOf = (action: ProposedAction): string => `edit.${action.id}`;

/** List the values that a form changed; an emptied field is null. */
export function editsOf(schema: RJSFSchema, args: Values, filled: Values): Values {
  const names = Object.keys(schema.properties ?? {});
  const given = names.map((name): [string, Json] => [name, filled[name] ?? null]);
  return Object.fromEntries(given.filter(([name, value]) => !isSame(value, args[name] ?? null)));
}

/** Fill a form with an action's values, and over them what a person typed; null is empty. */
export function filledWith(args: Values, typed: Values): Values {
  const all = Object.entries({ ...args, ...typed });
  return Object.fromEntries(all.filter(([, value]) => value !== null && !isReference(value)));
}

/** Take what a nullable field may be beside null; its default of null goes with it. */
function plain(field: Values): Values {
  const choices = Array.isArray(field["anyOf"]) ? field["anyOf"].map(asValues) : [];
  const real = choices.filter((choice) => choice["type"] !== "null");
  const [only] = real;
  if (only === undefined || real.length !== 1 || real.length === choices.length) return field;
  const rest = Object.entries(field).filter(([name]) => name !== "anyOf" && name !== "default");
  return { ...Object.fromEntries(rest), ...only };
}

function asValues(value: Json | undefined): Values {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
