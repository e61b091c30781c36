import { describe, expect, it } from "vitest";
import sample from "./sample.json";
import type { Proposal } from "../api/documents.ts";
import { changesBetween } from "./changes.ts";
import {
  carriedVerdicts,
  fallen,
  startingVerdicts,
  tally,
  undecided,
  withRest,
} from "./verdicts.ts";

const proposal = sample.proposal as unknown as Proposal;
const idOf = (ordinal: number) => proposal.actions[ordinal - 1]?.id ?? "";

describe("verdicts", () => {
  it("start with what is complete and stands in the source", () => {
    const verdicts = startingVerdicts(proposal);
    expect(verdicts[idOf(1)]).toBe("approve");
    expect(verdicts[idOf(6)]).toBeUndefined();
  });

  it("let everything fall that depends on a rejected action, however far", () => {
    const falls = fallen(proposal, { [idOf(1)]: "reject" });
    expect(falls.has(idOf(2))).toBe(true);
    expect(falls.has(idOf(9))).toBe(true);
    expect(falls.has(idOf(1))).toBe(false);
  });

  it("are counted with what falls among the rejected", () => {
    const verdicts = { ...startingVerdicts(proposal), [idOf(2)]: "reject" as const };
    expect(tally(proposal, verdicts)).toEqual({ approved: 1, rejected: 8, open: 0 });
  });

  it("of a changed action are asked for anew, the others are kept", () => {
    const now: Proposal = {
      ...proposal,
      actions: proposal.actions.map((action) =>
        action.ordinal === 2 ? { ...action, args: { ...action.args, title: "架构师" } } : action,
      ),
    };
    const changed = new Set(changesBetween(proposal, now).map((change) => change.id));
    expect([...changed]).toEqual([idOf(2)]);
    const anew = { before: proposal, changed, edited: [] };
    const kept = carriedVerdicts({ [idOf(1)]: "reject" }, now, anew);
    expect(kept[idOf(1)]).toBe("reject");
    expect(kept[idOf(2)]).toBe("approve");
    expect(kept[idOf(3)]).toBeUndefined();
  });

  it("of a rejected action stay, whatever it would do now, unless the person edited it", () => {
    const rejected = { [idOf(2)]: "reject" as const };
    const changed = new Set([idOf(2)]);
    const carried = (edited: string[]) =>
      carriedVerdicts(rejected, proposal, { before: proposal, changed, edited })[idOf(2)];
    expect(carried([])).toBe("reject");
    expect(carried([idOf(2)])).toBe("approve");
  });

  it("of the rest approve only what stands in the source, and leave the others open", () => {
    const approved = withRest(proposal, {}, "approve");
    expect(approved).toEqual(startingVerdicts(proposal));
    expect(undecided(proposal, approved).map((action) => action.id)).toContain(idOf(6));
    expect(withRest(proposal, { [idOf(1)]: "approve" }, "approve")[idOf(6)]).toBeUndefined();
  });

  it("of the rest reject everything that is open, and nothing that was approved", () => {
    const rejected = withRest(proposal, { [idOf(1)]: "approve" }, "reject");
    expect(rejected[idOf(1)]).toBe("approve");
    expect(rejected[idOf(6)]).toBe("reject");
    expect(undecided(proposal, rejected)).toEqual([]);
  });
});

describe("changesBetween", () => {
  it("finds nothing between a proposal and itself", () => {
    expect(changesBetween(proposal, proposal)).toEqual([]);
  });

  it("names an action that came and one that went", () => {
    const less: Proposal = { ...proposal, actions: proposal.actions.slice(0, -1) };
    expect(changesBetween(proposal, less).map((change) => change.how)).toEqual(["removed"]);
    expect(changesBetween(less, proposal).map((change) => change.how)).toEqual(["added"]);
  });

  it("matches actions of a correction by kind and place, since they have new ids", () => {
    const anew: Proposal = {
      ...proposal,
      actions: proposal.actions.map((action) => ({
        ...action,
        id: `new-${action.ordinal}`,
        args: action.ordinal === 1 ? { name: "另一家" } : action.args,
      })),
    };
    const [change, ...others] = changesBetween(proposal, anew);
    expect(others).toEqual([]);
    expect(change?.values[0]).toEqual({ name: "name", before: "云栖谷智能科技", after: "另一家" });
  });

  it("tells of an effect on a row that meanwhile exists", () => {
    const taken: Proposal = {
      ...proposal,
      actions: proposal.actions.map((action) =>
        action.ordinal === 1
          ? {
              ...action,
              effects: action.effects.map((e) => ({ ...e, operation: "none" as const })),
            }
          : action,
      ),
    };
    expect(changesBetween(proposal, taken).map((change) => change.ordinal)).toEqual([1]);
  });
});
