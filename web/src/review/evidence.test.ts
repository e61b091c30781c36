import { describe, expect, it } from "vitest";
import { divide } from "./evidence.ts";

const claim = (name: string, start: number, end: number) => ({ claim: name, start, end });

describe("divide", () => {
  it("cuts the source where evidence begins and ends and loses nothing", () => {
    const pieces = divide("甲公司招工程师", [claim("company", 0, 3), claim("title", 4, 7)]);
    expect(pieces.map((piece) => piece.text)).toEqual(["甲公司", "招", "工程师"]);
    expect(pieces.map((piece) => piece.claims)).toEqual([["company"], [], ["title"]]);
  });

  it("counts code points, so that an emoji before the words moves nothing", () => {
    const pieces = divide("🚀🚀甲公司", [claim("company", 2, 5)]);
    expect(pieces.map((piece) => piece.text)).toEqual(["🚀🚀", "甲公司"]);
  });

  it("gives overlapping evidence pieces that belong to several claims", () => {
    const pieces = divide("abcdef", [claim("one", 0, 4), claim("two", 2, 6)]);
    expect(pieces.map(({ text, claims }) => [text, claims])).toEqual([
      ["ab", ["one"]],
      ["cd", ["one", "two"]],
      ["ef", ["two"]],
    ]);
  });

  it("cuts off what lies outside the text", () => {
    const pieces = divide("abc", [claim("one", 1, 99)]);
    expect(pieces.map((piece) => piece.text).join("")).toBe("abc");
    expect(pieces.at(-1)?.text).toBe("bc");
  });

  it("gives an empty source no pieces with words", () => {
    expect(divide("", [])).toEqual([]);
  });
});
