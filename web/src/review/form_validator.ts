import { type Schema, Validator } from "@cfworker/json-schema";
import {
  type RJSFSchema,
  type RJSFValidationError,
  toErrorSchema,
  type ValidatorType,
} from "@rjsf/utils";

/** What stands in a form; less strictly typed than JSON, as its library wants it. */
export type Filled = Record<string, unknown>;

/**
 * Checks a form against its JSON Schema without compiling it to code.
 *
 * The validators that forms usually bring make functions of text, which our content security
 * policy forbids; this one walks the schema.
 */
export const formValidator: ValidatorType<Filled> = {
  validateFormData(filled, schema, _, translate) {
    const found = check(schema, filled);
    const errors = translate ? translate(found) : found;
    return { errors, errorSchema: toErrorSchema<Filled>(errors) };
  },
  isValid: (schema, filled, root) => check({ ...root, ...schema }, filled).length === 0,
  // The library's type leaves the kind of errors to its caller; nothing of ours asks for them.
  rawValidation: () => ({ errors: [] }),
};

const GENERAL = new Set(["properties", "items", "anyOf", "allOf", "$ref"]);

function check(schema: RJSFSchema, filled: Filled | undefined): RJSFValidationError[] {
  // Absent values stand in a form as undefined, which JSON does not know.
  const plain: unknown = JSON.parse(JSON.stringify(filled ?? {}));
  const found = new Validator(schema as Schema, "2020-12", false).validate(plain).errors;
  return found
    .filter((error) => !GENERAL.has(error.keyword))
    .map((error) => {
      const parent = error.instanceLocation.slice(1).split("/").filter(Boolean);
      const missing = error.keyword === "required" ? /"([^"]+)"/.exec(error.error)?.[1] : undefined;
      const path = missing === undefined ? parent : [...parent, missing];
      return {
        name: error.keyword,
        message: error.error,
        property: path.map((step) => `.${step}`).join(""),
        stack: error.error,
      };
    });
}
