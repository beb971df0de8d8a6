/** The integrity scan of each cycle reports edits of the store, and the action rebuild repairs them from the log. */
import { describe, expect, test } from "vitest";
import { listCapabilities } from "../../../lib/operations/capabilities.ts";
import { runAction } from "../../../lib/operations/actions.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { checkReadiness } from "../../../lib/operations/readiness.ts";
import { openProduct } from "../../../lib/changes/open_product.ts";
import { reconcile } from "../../../lib/changes/reconcile.ts";
import { listKnownMismatches } from "../../../lib/changes/integrity_scan.ts";
import { readRecord } from "../../../lib/changes/records.ts";
import type { ChangeRecord } from "../../../lib/changes/rules/record.ts";
import type { Tx } from "../../../lib/store/store.ts";
import { MINUTE } from "../../support/clock.ts";
import { restartDeps, type TestDeps } from "../../support/deps.ts";
import { service } from "../../support/service.ts";
import { PROPOSAL } from "../../support/client.ts";

type Service = Awaited<ReturnType<typeof service>>;

const editStore = (deps: TestDeps, change: (tx: Tx) => Promise<void> | void): Promise<void> =>
  deps.store.transact(change);
const readStoredRecord = async ({ deps }: Service, id: string) => (await readRecord(deps.store, id)) as ChangeRecord;
const cycle = async (deps: TestDeps): Promise<void> => {
  deps.clock.advance(MINUTE);
  await runCycle(deps);
};
const readChainStatus = async (deps: TestDeps) =>
  (await listCapabilities(deps)).find(({ id }) => id === "audit_chain")!;

describe("a record", () => {
  const EDITS: [name: string, fields: string[], tamper: (api: Service, id: string) => Promise<void>][] = [
    [
      "edited",
      ["status"],
      async (api, id) => {
        const record = await readStoredRecord(api, id);
        const change = { ...record.change, status: "denied" as const };
        await editStore(api.deps, (tx) => tx.put("changes", id, { ...record, change }));
      },
    ],
    [
      "restored to an earlier state",
      ["audit"],
      async (api, id) => {
        const earlier = await readStoredRecord(api, id);
        await api.must("rollback", id);
        await editStore(api.deps, (tx) => tx.put("changes", id, earlier));
      },
    ],
    [
      "removed from its target's owners",
      ["owners"],
      async ({ deps }) => {
        for (const { id } of await deps.store.list("owners", { limit: 9 }))
          await editStore(deps, (tx) => tx.delete("owners", id));
      },
    ],
  ];

  test("that was repaired is forgotten, also while a hundred others are not", async () => {
    const api = await service();
    const ids: string[] = [];
    for (let count = 0; count < 101; count++) ids.push((await api.propose({ target: `ui.b${count}` })).change_id);
    const originals = await Promise.all(ids.map((id) => readStoredRecord(api, id)));
    for (const [index, { change, ...state }] of originals.entries())
      await editStore(api.deps, (tx) =>
        tx.put("changes", ids[index]!, { ...state, change: { ...change, status: "denied" as const } }),
      );
    await cycle(api.deps);
    expect(listKnownMismatches(api.deps.integrity).size).toBe(101);
    const last = [...listKnownMismatches(api.deps.integrity).keys()].at(-1)!;
    await editStore(api.deps, (tx) => tx.put("changes", last, originals[ids.indexOf(last)]!));
    // A cycle reads a hundred of the known mismatches again, so two cycles read all 101.
    await cycle(api.deps);
    await cycle(api.deps);
    expect(listKnownMismatches(api.deps.integrity).size).toBe(100);
  });

  test.each(EDITS)("that was %s is reported by the next cycle, and can be rebuilt", async (_, fields, tamper) => {
    const api = await service();
    await api.bring("pending_consent");
    const id = await api.bring("applied", { target: "ui.b" });
    await tamper(api, id);
    await cycle(api.deps);
    const fieldsReported = listKnownMismatches(api.deps.integrity).get(id);
    expect(fieldsReported).toEqual(expect.arrayContaining(fields));
    expect(await readChainStatus(api.deps)).toMatchObject({ status: "degraded", reason: expect.stringContaining(id) });
    expect((await checkReadiness(api.deps)).ready).toBe(true);
    expect((await api.get("/api/metrics")).text).toContain("countersign_evidence_mismatches 1");

    const { result } = await runAction(api.deps, "rebuild");
    expect(result).toMatchObject({ rebuilt: [{ change_id: id }], left: [] });
    expect((await api.audit()).at(-1)).toMatchObject({ event_type: "record_rebuilt", change_id: id });
    expect((await reconcile(api.deps)).mismatched).toBe(0);
    await cycle(api.deps);
    expect(listKnownMismatches(api.deps.integrity).size).toBe(0);
    expect((await readChainStatus(api.deps)).status).toBe("available");
  });

  test("edited to applied without an apply is no longer reported after its rebuild", async () => {
    const api = await service();
    const id = await api.bring("pending_consent");
    const record = await readStoredRecord(api, id);
    await editStore(api.deps, (tx) =>
      tx.put("changes", id, { ...record, change: { ...record.change, status: "applied" } }),
    );
    await cycle(api.deps);
    expect([...listKnownMismatches(api.deps.integrity).keys()]).toEqual([id]);
    await runAction(api.deps, "rebuild");
    await cycle(api.deps);
    expect(listKnownMismatches(api.deps.integrity).size).toBe(0);
  });

  test("whose content was edited cannot be rebuilt, and is reported as left", async () => {
    const api = await service();
    const id = await api.bring("applied");
    const record = await readStoredRecord(api, id);
    await editStore(api.deps, (tx) => tx.put("changes", id, { ...record, change: { ...record.change, summary: "x" } }));
    const { result } = await runAction(api.deps, "rebuild");
    expect(result).toMatchObject({ rebuilt: [], left: [{ change_id: id, fields: ["content"] }] });
  });
});

test("an edited freeze and an edited KPI are rebuilt", async () => {
  const api = await service();
  await api.post("/api/product/kpi", { csat: 4 });
  await api.post("/api/product/freeze", { actor: "ana" });
  await editStore(api.deps, async (tx) => {
    tx.delete("meta", "freeze");
    const { values, ...rest } = (await tx.get("kpi", "latest"))!.value;
    tx.put("kpi", "latest", { ...rest, values: { csat: { ...values["csat"]!, value: 1 } } });
  });
  // The empty id: these records belong to no change.
  expect((await reconcile(api.deps)).mismatches).toEqual([{ change_id: "", fields: ["freeze", "kpi"] }]);
  expect((await runAction(api.deps, "rebuild")).result).toMatchObject({ left: [] });
  expect((await reconcile(api.deps)).mismatched).toBe(0);
  expect((await api.deps.store.get("kpi", "latest"))!.value.values["csat"]!.value).toBe(4);
});

describe("an edit of an old entry", () => {
  /** Opens a service with a number of changes, and edits one entry of its log. */
  const editOldEntry = async (changeCount: number, entryId: number) => {
    const api = await service();
    for (let count = 0; count < changeCount; count++)
      await api.post("/api/product/propose", { ...PROPOSAL, target: `t${count}` });
    const key = String(entryId).padStart(16, "0");
    const otherDeps = await restartDeps(api.deps);
    await editStore(api.deps, async (tx) => {
      const entry = (await tx.get("audit", key))!.value;
      tx.put("audit", key, { ...entry, timestamp: entry.timestamp.replace("2026", "2025") });
    });
    return { api, otherDeps };
  };

  test(
    "is found within one round of the scan, and then every process rejects writes",
    { timeout: 60_000 },
    async () => {
      const { api, otherDeps } = await editOldEntry(1600, 7);
      // A cycle verifies the newest thousand entries, and the next thousand of the round: here those before them, with entry 7.
      await cycle(api.deps);
      expect(api.deps.integrity.breach).toMatchObject({ first_invalid: 7 });
      expect((await api.post("/api/product/propose", PROPOSAL)).body.code).toBe("chain_broken");
      expect((await checkReadiness(otherDeps)).checks.chain?.ok).toBe(false);
      expect(await readChainStatus(otherDeps)).toMatchObject({ status: "failing" });
    },
  );
});

test("a breach persists across restarts until the log is correct again", async () => {
  const api = await service();
  await api.bring("approved");
  const key = "0000000000000002";
  const { value: entry } = (await api.deps.store.get("audit", key))!;
  await editStore(api.deps, (tx) => tx.put("audit", key, { ...entry, detail: "{}" }));
  await cycle(api.deps);
  expect(api.deps.integrity.breach).toBeDefined();
  const otherDeps = await restartDeps(api.deps);
  expect(otherDeps.integrity.breach).toBeDefined();
  // A process that reads only the newest entry finds it too.
  delete otherDeps.integrity.breach;
  await openProduct(otherDeps, { tail: 1 });
  expect(otherDeps.integrity.breach).toBeDefined();
  await editStore(api.deps, (tx) => tx.put("audit", key, entry));
  const repaired = await restartDeps(api.deps);
  expect(repaired.integrity.breach).toBeUndefined();
  expect(await repaired.store.get("meta", "breach")).toBeUndefined();
});
