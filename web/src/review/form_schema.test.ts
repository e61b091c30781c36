import { describe, expect, it } from "vitest";
import sample from "./sample.json";
import type { Values } from "../api/documents.ts";
import { editsOf, filledWith, formSchema, formUi } from "./form_schema.ts";
import { formValidator } from "./form_validator.ts";

const posting = sample.kinds.upsert_job_posting.schema as unknown as Values;
const args: Values = { title: "工程师", company_name: "甲公司", deadline: "2026-12-31" };
const schema = formSchema(posting, args, (name) => name.toUpperCase());

describe("formSchema", () => {
  it("makes an optional value an input that may be empty", () => {
    expect(schema.properties?.["deadline"]).toEqual({
      title: "DEADLINE",
      format: "date",
      type: "string",
    });
  });

  it("leaves out references to other actions and ids", () => {
    const requirement = sample.kinds.link_requirement.schema as unknown as Values;
    const made = formSchema(requirement, { posting: { $ref: "x" }, text: "Go" }, (name) => name);
    expect(Object.keys(made.properties ?? {})).not.toContain("posting");
  });

  it("gives long texts more than a line", () => {
    expect(formUi(schema)["url"]).toEqual({ "ui:widget": "textarea" });
    expect(formUi(schema)["title"]).toBeUndefined();
  });
});

describe("editsOf", () => {
  it("lists only what is another value", () => {
    expect(editsOf(schema, args, { ...args, title: "架构师" })).toEqual({ title: "架构师" });
  });

  it("clears a value whose input was emptied", () => {
    const left = { title: "工程师", company_name: "甲公司" };
    expect(editsOf(schema, args, left)).toEqual({ deadline: null });
  });
});

describe("filledWith", () => {
  it("shows what was typed over the action, and in the other fields what it says now", () => {
    const now = { ...args, company_name: "乙公司", posting: { $ref: "x" } };
    const filled = filledWith(now, { title: "架构师", deadline: null });
    expect(filled).toEqual({ title: "架构师", company_name: "乙公司" });
    expect(editsOf(schema, now, filled)).toEqual({ title: "架构师", deadline: null });
  });
});

describe("formValidator", () => {
  it("accepts what the schema allows", () => {
    expect(formValidator.validateFormData(args, schema).errors).toEqual([]);
  });

  it("names the field that is missing", () => {
    const { errors } = formValidator.validateFormData({ title: "工程师" }, schema);
    expect(errors.map((error) => error.property)).toEqual([".company_name"]);
  });

  it("names the field that is too long", () => {
    const long = { ...args, title: "长".repeat(201) };
    const { errors } = formValidator.validateFormData(long, schema);
    expect(errors.map((error) => error.property)).toEqual([".title"]);
  });
});
