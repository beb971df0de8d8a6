/** The operands of a change: the values that its target systems set. */
import { expect, test } from "vitest";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import { formatOperandId, listOperands, parseOperandId, toChangeId } from "../../../../lib/changes/rules/operands.ts";

const change = (fields: object): Change => ({ change_id: "chg_1", kind: "config", ...fields }) as unknown as Change;

test("a change of one target is its own operand", () => {
  const single = change({ tenant_id: "t1", target: "ui.banner", value: 1 });
  expect(listOperands(single)).toEqual([single]);
  expect(listOperands(single)[0]).toBe(single);
});

test("a plan has an operand for each entry, with the key on the target system if known", () => {
  const sets = [
    { tenant_id: "t1", target: "ui.banner", value: true },
    { tenant_id: "t2", target: "limits.seats", value: 50 },
  ];
  const place = { tenant_id: "t2", target: "limits.seats", system: "flags", place: "file:flags.json#t2/limits.seats" };
  const plan = { tenant_id: "*", target: "release.7", sets };
  expect(listOperands(change({ ...plan, places: [place] }))).toEqual([
    { kind: "config", ...sets[0], change_id: "chg_1.1" },
    { kind: "config", ...sets[1], change_id: "chg_1.2", places: [place] },
  ]);
  expect(listOperands(change(plan)).map((operand) => "places" in operand)).toEqual([false, false]);
});

test.each([
  ["chg_1", { change_id: "chg_1" }],
  ["chg_1.1", { change_id: "chg_1", entry: 1 }],
  ["chg_1.20", { change_id: "chg_1", entry: 20 }],
])("the operand id %s is formatted and parsed", (id, parts) => {
  expect(parseOperandId(id)).toStrictEqual(parts);
  expect(formatOperandId(parts)).toBe(id);
  expect(toChangeId(id)).toBe("chg_1");
});
