/** Both verifiers accept the log of each life of a plan, and reject another outcome of one of its targets. */
import { expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { rounds } from "../../support/run_length.ts";
import { memoryScenarioSystems } from "../../support/memory_scenarios.ts";
import { runPlanScenarios } from "../../support/plan_scenarios.ts";
import { rehashed } from "../../tamper/world.ts";
import { judgeExports } from "./judge_export.ts";

/** A target in the entry of a failure: `host` is its state, and `target_holds` is there only if it was rolled back. */
type Left = Record<string, unknown> & { host: string };
type Failure = Record<string, unknown> & { host: string; sets: Left[] };

const readEntries = (text: string): AuditEntry[] =>
  text
    .trimEnd()
    .split("\n")
    .filter((line) => line.includes('"event_type"'))
    .map((line) => JSON.parse(line) as AuditEntry);
const toText = (entries: readonly AuditEntry[]): string => entries.map((one) => `${JSON.stringify(one)}\n`).join("");

const FAILURES = ["change_apply_failed", "change_rollback_failed"];
const STATES = ["rolled_back", "absent", "applied", "unknown"];

/** Returns logs in which the state of one target is replaced by another: without new hashes, and with them. */
function forgeStates(entries: readonly AuditEntry[]): string[] {
  return entries.flatMap((entry, at) => {
    const detail = JSON.parse(entry.detail) as Failure;
    if (!FAILURES.includes(entry.event_type) || !detail.sets) return [];
    const worst = detail.sets.filter(({ host }) => host === detail.host);
    // The state of the plan is the worst of its targets. A forgery contradicts it if the only target in that state gets
    // another, or if a target in a better state gets the worst of all, `unknown`.
    const [onlyWorst] = worst.length === 1 ? worst : [];
    const replaced = onlyWorst ?? detail.sets.find(({ host }) => host !== detail.host);
    if (!replaced || (!onlyWorst && detail.host === "unknown")) return [];
    const host = onlyWorst ? STATES.find((one) => one !== onlyWorst.host)! : "unknown";
    const sets = detail.sets.map((one) => (one === replaced ? { ...one, host } : one));
    const forged = entries.with(at, { ...entry, detail: JSON.stringify({ ...detail, sets }) });
    return [toText(forged), toText(rehashed(forged, 0))];
  });
}

/** Returns logs, with new hashes, in which a failed rollback no longer states of one target that it was rolled back. */
const forgeLeft = (entries: readonly AuditEntry[]): string[] =>
  entries.flatMap((entry, at) => {
    const detail = JSON.parse(entry.detail) as Failure;
    const index = detail.sets?.findIndex((one) => "target_holds" in one) ?? -1;
    if (entry.event_type !== "change_rollback_failed" || index < 0) return [];
    const { target_holds: _, ...left } = detail.sets[index]!;
    const sets = detail.sets.with(index, left as Left);
    return [toText(rehashed(entries.with(at, { ...entry, detail: JSON.stringify({ ...detail, sets }) }), 0))];
  });

test(
  "the log of each scenario verifies, and one with another outcome of a target does not",
  { timeout: 600_000 },
  async () => {
    // From the first to the last seed: 12 in the short run, 24 in the long one, 200 in the full one.
    const { exports } = await runPlanScenarios(memoryScenarioSystems(), [1001, 1000 + rounds(12, 24, 200)]);
    for (const judged of await judgeExports(exports)) expect(judged).toEqual({ typescript: [], python: [] });
    const logs = exports.map(readEntries);
    const forged = [logs.flatMap(forgeStates), logs.flatMap(forgeLeft)];
    for (const texts of forged) {
      expect(texts.length).toBeGreaterThan(0);
      for (const { typescript, python } of await judgeExports(texts)) {
        expect(typescript).not.toEqual([]);
        expect(python).toEqual(typescript);
      }
    }
  },
);
