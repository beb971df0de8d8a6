/** Entries about an apply or a rollback of a plan are valid only if they name all targets of the plan and no others. */
import { expect, test } from "vitest";
import type { AuditEntry } from "../../../../lib/audit/entry.ts";
import { foldEntries } from "../../../../lib/changes/ledger/verify_record.ts";
import { bringPlan, memorySystems, planBench, planEntry } from "../../../support/plan_bench.ts";

/** The targets of an entry, in the member `sets` of its detail. */
type Sets = { target: string }[];

test.each<[string, (sets: Sets) => Sets | undefined]>([
  ["some of the targets", (sets) => sets.slice(1)],
  ["another target", (sets) => [{ ...sets[0]!, target: "a/9" }, ...sets.slice(1)]],
  ["one target more", (sets) => [...sets, { ...sets[0]!, target: "a/9" }]],
  // JSON omits a member that is undefined.
  ["no targets", () => undefined],
])("an entry about an apply or a rollback that names %s is rejected", async (_, edit) => {
  const { api } = await planBench(memorySystems(["a", "b"]));
  const id = await bringPlan(api, "applied", [planEntry("a", 1), planEntry("a", 2), planEntry("b", 1)]);
  await api.must("rollback", id);
  const entries = (await api.audit()).filter((entry: AuditEntry) => entry.change_id === id) as AuditEntry[];
  expect(foldEntries(entries)?.change.status).toBe("rolled_back");
  for (const type of ["change_applied", "change_rolled_back"]) {
    const edited = entries.map((entry) => {
      if (entry.event_type !== type) return entry;
      const detail = JSON.parse(entry.detail) as { sets: Sets };
      return { ...entry, detail: JSON.stringify({ ...detail, sets: edit(detail.sets) }) };
    });
    expect(foldEntries(edited), type).toBeUndefined();
  }
});
