/** Both verifiers report a restore of a change that is not the applied owner of its target. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { judgeExports } from "./judge_export.ts";

const GOLDEN = readFileSync("test/golden/files/log.jsonl", "utf8");
const NOT_OWNER = "it restores the value of a change that is not in force on its target";

type Line = { event_type: string; change_id: string };

/** Returns the golden log in which the apply of the restored change is an entry of another type. */
function withoutApply(): string {
  const lines = GOLDEN.trimEnd().split("\n");
  const entries = lines.map((line) => JSON.parse(line) as Line);
  const { change_id } = entries.find(({ event_type }) => event_type === "value_restored")!;
  const isApply = (entry: Line): boolean => entry.event_type === "change_applied" && entry.change_id === change_id;
  return `${lines.map((line, at) => (isApply(entries[at]!) ? line.replace("change_applied", "change_drifted") : line)).join("\n")}\n`;
}

test("a restore of the applied owner is valid, and one of another change is a finding", async () => {
  const [honest, forged] = await judgeExports([GOLDEN, withoutApply()]);
  expect(honest).toEqual({ typescript: [], python: [] });
  expect(forged!.typescript).toContain(NOT_OWNER);
  expect(forged!.python).toContain(NOT_OWNER);
});
