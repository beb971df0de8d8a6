/** Edits of the store are named by the cycles, and repaired from the log where it has the data. */
import { describe, expect, test } from "vitest";
import { listCapabilities } from "../../../lib/operations/capabilities.ts";
import { runAction } from "../../../lib/operations/actions.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { checkReadiness } from "../../../lib/operations/readiness.ts";
import { openProduct } from "../../../lib/changes/open.ts";
import { reconcile } from "../../../lib/changes/reconcile.ts";
import { listKnownMismatches } from "../../../lib/changes/integrity_scan.ts";
import { readRecord } from "../../../lib/changes/records.ts";
import type { ChangeRecord } from "../../../lib/changes/rules/record.ts";
import type { Tx } from "../../../lib/store/store.ts";
import { MINUTE } from "../../support/clock.ts";
import { restarted, type TestDeps } from "../../support/deps.ts";
import { service } from "../../support/service.ts";
import { PROPOSAL } from "../../support/client.ts";

type Service = Awaited<ReturnType<typeof service>>;

const edit = (deps: TestDeps, by: (tx: Tx) => Promise<void> | void): Promise<void> => deps.store.transact(by);
const recordOf = async ({ deps }: Service, id: string) => (await readRecord(deps.store, id)) as ChangeRecord;
const cycle = async (deps: TestDeps): Promise<void> => {
  deps.clock.advance(MINUTE);
  await runCycle(deps);
};
const chain = async (deps: TestDeps) => (await listCapabilities(deps)).find(({ id }) => id === "audit_chain")!;

describe("a record", () => {
  const EDITS: [what: string, fields: string[], edit: (api: Service, id: string) => Promise<void>][] = [
    [
      "edited",
      ["status"],
      async (api, id) => {
        const record = await recordOf(api, id);
        const change = { ...record.change, status: "denied" as const };
        await edit(api.deps, (tx) => tx.put("changes", id, { ...record, change }));
      },
    ],
    [
      "set back",
      ["live_by_target", "audit"],
      async (api, id) => {
        const kept = await recordOf(api, id);
        await api.must("rollback", id);
        await edit(api.deps, (tx) => tx.put("changes", id, kept));
      },
    ],
    ["taken out of its target's owners", ["owners"], (api) => clear(api, "owners")],
  ];

  test.each(EDITS)("that was %s is named by the next cycle, and rebuilt", async (_, fields, tamper) => {
    const api = await service();
    await api.bring("pending_consent");
    const id = await api.bring("applied", { target: "ui.b" });
    await tamper(api, id);
    await cycle(api.deps);
    const named = listKnownMismatches(api.deps.integrity).get(id);
    expect(named).toEqual(expect.arrayContaining(fields.includes("audit") ? ["audit"] : fields));
    expect(await chain(api.deps)).toMatchObject({ status: "degraded", reason: expect.stringContaining(id) });
    expect((await checkReadiness(api.deps)).ready).toBe(true);
    expect((await api.get("/api/metrics")).text).toContain("countersign_evidence_mismatches 1");

    const { result } = await runAction(api.deps, "rebuild");
    expect(result).toMatchObject({ rebuilt: [{ change_id: id }], left: [] });
    expect((await api.audit()).at(-1)).toMatchObject({ event_type: "record_rebuilt", change_id: id });
    expect((await reconcile(api.deps)).mismatched).toBe(0);
    await cycle(api.deps);
    expect(listKnownMismatches(api.deps.integrity).size).toBe(0);
    expect((await chain(api.deps)).status).toBe("available");
  });

  test("of a change that was never applied is no longer named after its rebuild", async () => {
    const api = await service();
    const id = await api.bring("pending_consent");
    const record = await recordOf(api, id);
    await edit(api.deps, (tx) => tx.put("changes", id, { ...record, change: { ...record.change, status: "applied" } }));
    await cycle(api.deps);
    expect([...listKnownMismatches(api.deps.integrity).keys()]).toEqual([id]);
    await runAction(api.deps, "rebuild");
    await cycle(api.deps);
    expect(listKnownMismatches(api.deps.integrity).size).toBe(0);
  });

  test("whose content is another is left, and said to be", async () => {
    const api = await service();
    const id = await api.bring("applied");
    const record = await recordOf(api, id);
    await edit(api.deps, (tx) => tx.put("changes", id, { ...record, change: { ...record.change, summary: "x" } }));
    const { result } = await runAction(api.deps, "rebuild");
    expect(result).toMatchObject({ rebuilt: [], left: [{ change_id: id, fields: ["content"] }] });
  });
});

async function clear({ deps }: Service, collection: "owners"): Promise<void> {
  for (const { id } of await deps.store.list(collection, { limit: 9 }))
    await edit(deps, (tx) => tx.delete(collection, id));
}

test("a freeze and a KPI that were edited are rebuilt", async () => {
  const api = await service();
  await api.post("/api/product/kpi", { csat: 4 });
  await api.post("/api/product/freeze", { actor: "ana" });
  await edit(api.deps, async (tx) => {
    tx.delete("meta", "freeze");
    const { values, ...kept } = (await tx.get("kpi", "latest"))!.value;
    tx.put("kpi", "latest", { ...kept, values: { csat: { ...values["csat"]!, value: 1 } } });
  });
  expect((await reconcile(api.deps)).mismatches).toEqual([{ change_id: "", fields: ["freeze", "kpi"] }]);
  expect((await runAction(api.deps, "rebuild")).result).toMatchObject({ left: [] });
  expect((await reconcile(api.deps)).mismatched).toBe(0);
  expect((await api.deps.store.get("kpi", "latest"))!.value.values["csat"]!.value).toBe(4);
});

describe("an entry that was edited far back", () => {
  /** A service with a log of some thousand entries, of which one was edited. */
  const tampered = async (entries: number, id: number) => {
    const api = await service();
    for (let made = 0; made < entries; made++)
      await api.post("/api/product/propose", { ...PROPOSAL, target: `t${made}` });
    const key = String(id).padStart(16, "0");
    const other = await restarted(api.deps);
    await edit(api.deps, async (tx) => {
      const entry = (await tx.get("audit", key))!.value;
      tx.put("audit", key, { ...entry, timestamp: entry.timestamp.replace("2026", "2025") });
    });
    return { api, other };
  };

  test("is found within one round, and then every process refuses to write", { timeout: 60_000 }, async () => {
    const { api, other } = await tampered(1600, 7);
    // The newest thousand first, and one share of the round.
    await cycle(api.deps);
    expect(api.deps.integrity.breach).toMatchObject({ first_invalid: 7 });
    expect((await api.post("/api/product/propose", PROPOSAL)).body.code).toBe("chain_broken");
    expect((await checkReadiness(other)).checks.chain?.ok).toBe(false);
    expect(await chain(other)).toMatchObject({ status: "failing" });
  });
});

test("a breach that was found stands after a restart, until the log is as it was", async () => {
  const api = await service();
  await api.bring("approved");
  const key = "0000000000000002";
  const { value: entry } = (await api.deps.store.get("audit", key))!;
  await edit(api.deps, (tx) => tx.put("audit", key, { ...entry, detail: "{}" }));
  await cycle(api.deps);
  expect(api.deps.integrity.breach).toBeDefined();
  const other = await restarted(api.deps);
  expect(other.integrity.breach).toBeDefined();
  // Also by one that checks the newest entry only before it serves.
  delete other.integrity.breach;
  await openProduct(other, { tail: 1 });
  expect(other.integrity.breach).toBeDefined();
  await edit(api.deps, (tx) => tx.put("audit", key, entry));
  const mended = await restarted(api.deps);
  expect(mended.integrity.breach).toBeUndefined();
  expect(await mended.store.get("meta", "breach")).toBeUndefined();
});
