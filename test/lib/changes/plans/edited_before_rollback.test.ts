/** Before a rollback of a plan the service checks for edits of targets whose adapter has no check, such as a webhook. */
import { expect, test } from "vitest";
import type { ProductAdapter } from "../../../../lib/changes/operations/adapter_port.ts";
import { bringPlan, memorySystems, planBench, planEntry } from "../../../support/plan_bench.ts";

/** Creates a system without a check for edits. It stores one value for each target, and the service can read it with `held`. */
function createCrm() {
  const values = new Map<string, unknown>();
  const previousValues = new Map<string, unknown>();
  const rolledBack: string[] = [];
  const adapter: ProductAdapter = {
    name: "crm",
    validate: async () => ({ ok: true }),
    async apply({ change_id, target, value }) {
      previousValues.set(change_id, values.get(target));
      values.set(target, value);
      return { result: "applied", previous: null };
    },
    async verify({ change_id, target, value }) {
      if (!previousValues.has(change_id)) return "rolled_back";
      return values.get(target) === value ? "applied" : "unknown";
    },
    held: async ({ target }) => (values.has(target) ? { value: values.get(target) } : null),
    async rollback({ change_id, target }) {
      rolledBack.push(target);
      values.set(target, previousValues.get(change_id));
      previousValues.delete(change_id);
      return { result: "rolled_back" };
    },
  };
  return { adapter, values, rolledBack };
}

/** Entries with the values `new 1`, `new 1` and `new 2`. */
const ENTRIES = [planEntry("a", 1), planEntry("crm", 1), planEntry("crm", 2)];

async function openWithAppliedPlan() {
  const crm = createCrm();
  const more = [{ name: "crm", match: ["crm/*"], adapter: crm.adapter }];
  const bench = await planBench(memorySystems(["a"]), { more });
  return { ...bench, crm, id: await bringPlan(bench.api, "applied", ENTRIES) };
}

test("an edited entry on a system without a check blocks the rollback unless over_drift is set", async () => {
  const { api, crm, id, raw } = await openWithAppliedPlan();
  crm.values.set("crm/2", "edited");
  const rejected = await api.act("rollback", id);
  expect(rejected).toMatchObject({
    status: 409,
    body: { code: "target_drifted", expected: "new 2", held: "edited" },
  });
  expect([raw(ENTRIES[0]!), crm.rolledBack, crm.values.get("crm/2")]).toEqual(['"new 1"', [], "edited"]);
  expect((await api.post("rollback", { change_id: id, over_drift: 1, note: "known" })).status).toBe(200);
  expect([raw(ENTRIES[0]!), crm.rolledBack]).toEqual([undefined, ["crm/2", "crm/1"]]);
});

test("a value of a later change, or a value that cannot be read, does not count as an edit", async () => {
  const { api, id } = await openWithAppliedPlan();
  await api.bring("applied", { target: "crm/2", value: '"later"' });
  expect((await api.act("rollback", id)).status).toBe(200);
  const other = await openWithAppliedPlan();
  other.crm.values.set("crm/2", "edited");
  // Undefined: the system does not say what it has.
  other.crm.adapter.held = async () => undefined;
  expect((await other.api.act("rollback", other.id)).status).toBe(200);
});
