/** Every decision verifies the stored data that it uses against the log, so edits of the store alone have no effect. */
import { describe, expect, test } from "vitest";
import { foldEntries } from "../../../lib/changes/ledger/verify_record.ts";
import { listKnownMismatches, scanIntegrity } from "../../../lib/changes/integrity_scan.ts";
import { reconcile } from "../../../lib/changes/reconcile.ts";
import { openProduct } from "../../../lib/changes/open_product.ts";
import { formatTargetChangeKey, readRecord, formatTargetKey } from "../../../lib/changes/records.ts";
import { entryKey } from "../../../lib/audit/chain.ts";
import { pickContent } from "../../../lib/changes/rules/content.ts";
import { toChange, type ChangeRecord } from "../../../lib/changes/rules/record.ts";
import type { Collection, Tx } from "../../../lib/store/store.ts";
import { HOUR, pass } from "../../support/clock.ts";
import { type Core, core, makeCore } from "../../support/core.ts";
import { restartDeps, type TestOptions } from "../../support/deps.ts";
import { hashEntry } from "../../support/independent_chain.ts";
import { PROPOSAL } from "../../support/client.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";

/** Edits the store without log entries. */
const editStore = (api: Core, change: (tx: Tx) => Promise<void> | void): Promise<void> =>
  api.deps.store.transact(change);

const readStoredRecord = async (api: Core, id: string) => (await readRecord(api.deps.store, id)) as ChangeRecord;

/** The process under test: the process that wrote the data, or another one on the same store. */
const PROCESSES: [name: string, start: (api: Core, options?: TestOptions) => Promise<Core>][] = [
  ["the process that wrote the data", async (api) => api],
  ["another process", async (api, options) => makeCore(await restartDeps(api.deps, options))],
];

describe.each(PROCESSES)("a record restored to an earlier state, read by %s", (_, startProcess) => {
  test.each([
    ["revoked", "approved", "apply"],
    ["denied", "pending_consent", "approve"],
    ["withdrawn", "pending_consent", "approve"],
  ] as const)("a change that was %s is not accepted as %s again", async (end, before, action) => {
    const adapter = scriptedAdapter();
    const first = await core({ adapter });
    const id = await first.bring(before);
    const earlierRecord = await readStoredRecord(first, id);
    await first.must(({ revoked: "revoke", denied: "deny", withdrawn: "withdraw" } as const)[end], id);
    await editStore(first, (tx) => tx.put("changes", id, earlierRecord));
    const api = await startProcess(first);
    expect((await api.act(action, id)).body).toMatchObject({
      status: 409,
      code: "evidence_mismatch",
      fields: ["audit"],
    });
    expect(adapter.calls).toEqual([]);
    expect(await api.audit()).toHaveLength((await first.audit()).length);
  });

  test("an applied change is not applied again", async () => {
    const adapter = scriptedAdapter();
    const first = await core({ adapter });
    const id = await first.bring("approved");
    const earlierRecord = await readStoredRecord(first, id);
    await first.must("apply", id);
    adapter.calls.length = 0;
    await editStore(first, (tx) => tx.put("changes", id, earlierRecord));
    const api = await startProcess(first);
    expect((await api.act("apply", id)).body.code).toBe("evidence_mismatch");
    expect(adapter.calls).toEqual([]);
  });

  test("a rolled back change is not rolled back again, and other changes work", async () => {
    const adapter = scriptedAdapter();
    const first = await core({ adapter });
    const id = await first.bring("applied");
    const earlierRecord = await readStoredRecord(first, id);
    await first.must("rollback", id);
    adapter.calls.length = 0;
    await editStore(first, (tx) => tx.put("changes", id, earlierRecord));
    const api = await startProcess(first);
    // A rollback that finds a mismatch decides by the log, which has the earlier rollback.
    expect((await api.act("rollback", id)).body).toMatchObject({ status: 400, code: "illegal_transition" });
    expect(adapter.calls).not.toContain("rollback");
    await api.bring("rolled_back");
  });
});

test("an applied change whose record was edited to denied can be rolled back", async () => {
  const api = await core({ adapter: scriptedAdapter() });
  const id = await api.bring("applied");
  const { change, ...record } = await readStoredRecord(api, id);
  await editStore(api, (tx) => tx.put("changes", id, { ...record, change: { ...change, status: "denied" } }));
  expect((await api.act("approve", id)).body.code).toBe("evidence_mismatch");
  expect((await api.must("rollback", id)).status).toBe("rolled_back");
  expect((await readStoredRecord(api, id)).change.status).toBe("rolled_back");
});

test("an applied change whose target was edited in its record is not rolled back", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const id = await api.bring("applied");
  const { change, ...record } = await readStoredRecord(api, id);
  adapter.calls.length = 0;
  await editStore(api, (tx) => tx.put("changes", id, { ...record, change: { ...change, target: "other" } }));
  expect((await api.act("rollback", id)).body).toMatchObject({ code: "evidence_mismatch", fields: ["content"] });
  expect(adapter.calls).not.toContain("rollback");
});

test("a change whose content was edited can be closed", async () => {
  for (const [status, action] of [
    ["approved", "revoke"],
    ["pending_consent", "deny"],
    ["pending_consent", "withdraw"],
  ] as const) {
    const api = await core();
    const id = await api.bring(status);
    const { change, ...record } = await readStoredRecord(api, id);
    await editStore(api, (tx) => tx.put("changes", id, { ...record, change: { ...change, summary: "another" } }));
    expect((await api.must(action, id)).status).toBe("denied");
  }
});

test("overdue changes expire although the record of another change was edited", async () => {
  const api = await core({ intent: { policy: { consent_ttl_hours: 1 } } });
  const [edited, other] = [await api.bring("pending_consent"), await api.bring("pending_consent")];
  const { change, ...record } = await readStoredRecord(api, edited);
  await editStore(api, (tx) => tx.put("changes", edited, { ...record, change: { ...change, required_approvers: 7 } }));
  await pass(api.deps, 2 * HOUR);
  await api.cycle();
  expect((await api.change(other)).status).toBe("denied");
  expect((await readStoredRecord(api, edited)).change.status).toBe("pending_consent");
});

describe("tampering with an entry", () => {
  const edits: [name: string, tamper: (api: Core, id: string) => Promise<void>][] = [
    [
      "edited",
      (api, id) =>
        editStore(api, async (tx) => {
          const { audit } = await readStoredRecord(api, id);
          const key = entryKey(audit[0]!);
          const entry = (await tx.get("audit", key))!.value;
          tx.put("audit", key, { ...entry, detail: entry.detail.replace("pending_consent", "approved") });
        }),
    ],
    [
      "replaced by another entry",
      (api, id) =>
        editStore(api, async (tx) => {
          const key = entryKey((await readStoredRecord(api, id)).audit[0]!);
          const other = (await tx.list("audit", { limit: 9 })).find((candidate) => candidate.id !== key)!;
          tx.put("audit", key, other.value);
        }),
    ],
    [
      "deleted",
      (api, id) =>
        editStore(api, async (tx) => tx.delete("audit", entryKey((await readStoredRecord(api, id)).audit[0]!))),
    ],
  ];
  test.each(edits)("%s: governed writes stop with chain_broken", async (_, tamper) => {
    const api = await core();
    const id = await api.bring("approved");
    await api.bring("approved");
    await tamper(api, id);
    const { status, body } = await api.act("apply", id);
    expect([status, body.code]).toEqual([503, "chain_broken"]);
    expect((await api.post("kpi", { csat: 1 })).body.code).toBe("chain_broken");
  });
});

test("a denial forged into an approval, with matching hash and record, breaks the chain", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const id = await api.bring("denied");
  await api.bring("approved");
  await editStore(api, async (tx) => {
    const record = await readStoredRecord(api, id);
    const key = entryKey(record.audit[1]!);
    const entry = (await tx.get("audit", key))!.value;
    const detail = { ...JSON.parse(entry.detail), decision: "approved", status: "approved" };
    const forged = { ...entry, detail: JSON.stringify(detail) };
    tx.put("audit", key, { ...forged, current_hash: hashEntry(forged) });
    const [proposal] = await tx.getMany("audit", [entryKey(record.audit[0]!)]);
    // A fold reads the details only, and no hash.
    const state = foldEntries([proposal!.value, { ...forged, current_hash: "" }])!;
    tx.put("changes", id, { ...state, change: toChange(state, pickContent(record.change)) });
  });
  expect((await api.act("apply", id)).body.code).toBe("chain_broken");
  expect(adapter.calls).toEqual([]);
});

test("a log whose last entry was cut off is found broken by the next decision", async () => {
  const api = await core();
  const id = await api.bring("approved");
  const { value: before } = (await api.deps.store.get("meta", "chain"))!;
  await api.post("kpi", { csat: 4 });
  await editStore(api, (tx) => {
    tx.put("meta", "chain", before);
    tx.delete("audit", entryKey(before.length + 1));
  });
  expect((await api.act("apply", id)).body.code).toBe("chain_broken");
});

test("the daily limit of minor changes is counted from the log, not from a stored counter", async () => {
  const policy = { minor: { kinds: ["config"], targets: ["ui.*"], max_per_day: 2 } };
  const first = await core({ intent: { policy } });
  const minor = { tier: "minor", kind: "config", target: "ui.x", affected_users: 1, risk: "low", reversible: true };
  for (const api of [first, makeCore(await restartDeps(first.deps, { intent: { policy } }))])
    expect((await api.propose(minor)).tier).toBe("minor");
  // No code reads this row; it stands for a counter that somebody sets back.
  await editStore(first, (tx) =>
    tx.put("counts" as "meta", "minor" as never, { day: "2026-01-02", count: 0 } as never),
  );
  for (const api of [first, makeCore(await restartDeps(first.deps, { intent: { policy } }))])
    expect((await api.propose(minor)).tier).toBe("standard");
  first.deps.clock.advance(24 * HOUR);
  expect((await first.propose(minor)).tier).toBe("minor");
});

describe("a freeze", () => {
  test("that is deleted from the store stays in force", async () => {
    const api = await core();
    const id = await api.bring("approved");
    await api.post("freeze", { actor: "ana", note: "audit" });
    await editStore(api, (tx) => tx.delete("meta", "freeze"));
    expect((await api.act("apply", id)).body).toMatchObject({ code: "frozen", freeze: { actor: "ana" } });
    expect((await api.post("unfreeze", { actor: "ana" })).status).toBe(200);
    expect((await api.act("apply", id)).status).toBe(200);
  });

  test("that is only in the store does not stop an apply", async () => {
    const api = await core();
    const id = await api.bring("approved");
    await editStore(api, (tx) => tx.put("meta", "freeze", { actor: "eve", note: "", until: null, at: "", entry: 1 }));
    expect((await api.act("apply", id)).status).toBe(200);
  });
});

test("an apply records the KPIs of the log, although the stored KPIs were edited", async () => {
  const api = await core();
  await api.post("kpi", { csat: 4 });
  await editStore(api, async (tx) => {
    const stored = (await tx.get("kpi", "latest"))!.value;
    tx.put("kpi", "latest", { ...stored, values: { csat: { ...stored.values["csat"]!, value: 1 } } });
  });
  const { audit_entry } = await api.must("apply", await api.bring("approved"));
  expect(JSON.parse(audit_entry.detail).kpis).toEqual({ csat: 4 });
});

test("an apply records KPIs from the log, although the stored KPIs are of an earlier feed", async () => {
  const goal = { baseline: 1, target: 2 };
  const api = await core({ intent: { kpis: { csat: goal, churn: goal } } });
  await api.post("kpi", { csat: 4, churn: 9 });
  const { value: before } = (await api.deps.store.get("kpi", "latest"))!;
  await api.post("kpi", { csat: 3 });
  await editStore(api, (tx) => tx.put("kpi", "latest", before));
  const { audit_entry } = await api.must("apply", await api.bring("approved"));
  expect(JSON.parse(audit_entry.detail).kpis).toEqual({ csat: 3, churn: 9 });
});

describe("the owner and the live changes of a target", () => {
  const policy = { on_conflict: "block", on_stale: "block" };
  /** Deletes all rows of an index. */
  const deleteRows = (api: Core, index: "live_by_target" | "owners") =>
    editStore(api, async (tx) => {
      for (const { id } of await tx.list(index, { limit: 9 })) tx.delete(index, id);
    });

  test.each(PROCESSES)(
    "a live change deleted from the index still blocks the next one, read by %s",
    async (_, startProcess) => {
      const first = await core({ intent: { policy } });
      const live = await first.bring("approved");
      await deleteRows(first, "live_by_target");
      const api = await startProcess(first, { intent: { policy } });
      const { status, body } = await api.post("propose", PROPOSAL);
      expect([status, body.code, body.conflicts]).toEqual([409, "target_conflict", [live]]);
      await api.must("apply", live);
      expect((await api.post("propose", PROPOSAL)).status).toBe(201);
    },
  );

  test("forged rows of live changes block nothing", async () => {
    const first = await core();
    const { change_id, ...target } = await first.change(await first.bring("applied"));
    await editStore(first, (tx) => {
      tx.put("live_by_target", formatTargetChangeKey({ ...target, change_id }), true);
      tx.put("live_by_target", formatTargetChangeKey({ ...target, change_id: "chg_none" }), true);
    });
    const api = makeCore(await restartDeps(first.deps, { intent: { policy } }));
    expect((await api.post("propose", PROPOSAL)).status).toBe(201);
  });

  test("an apply deleted from the index of owners still counts as a move of the target", async () => {
    const intent = { policy: { on_stale: "block" } };
    const first = await core({ intent });
    const id = await first.bring("approved");
    const other = await first.bring("applied");
    await deleteRows(first, "owners");
    const api = makeCore(await restartDeps(first.deps, { intent }));
    expect((await api.act("apply", id)).body).toMatchObject({
      code: "target_moved",
      target_owner: { before: null, now: other },
    });
  });

  test("forged owners, and a rolled back owner, do not count as a move of the target", async () => {
    const intent = { policy: { on_stale: "block" } };
    const first = await core({ intent });
    const rolledBack = await first.bring("applied");
    const { applied } = await readStoredRecord(first, rolledBack);
    await first.must("rollback", rolledBack);
    const id = await first.bring("pending_consent");
    expect(JSON.parse((await first.must("approve", id)).audit_entry.detail).target_owner).toBeNull();
    const elsewhere = await first.bring("applied", { target: "ui.b" });
    const { applied: other } = await readStoredRecord(first, elsewhere);
    const untouched = await first.bring("approved", { target: "ui.c" });
    const targetKeys = [formatTargetKey(await first.change(id)), formatTargetKey(await first.change(untouched))];
    await editStore(first, (tx) => {
      for (const targetKey of targetKeys) {
        tx.put("owners", targetKey + entryKey(applied!.entry), rolledBack);
        tx.put("owners", targetKey + entryKey(other!.entry), elsewhere);
        tx.put("owners", targetKey + entryKey(9999), elsewhere);
      }
    });
    const api = makeCore(await restartDeps(first.deps, { intent }));
    for (const change_id of [id, untouched]) expect((await api.act("apply", change_id)).status).toBe(200);
  });

  test("applies and rollbacks record the target's owner from the log, without the index", async () => {
    const api = await core();
    const ids = [];
    for (let count = 0; count < 4; count++) ids.push(await api.bring("applied"));
    const [first, second, third, last] = ids as [string, string, string, string];
    const rollBack = async (id: string) => {
      await deleteRows(api, "owners");
      return JSON.parse((await api.must("rollback", id)).audit_entry.detail).target_holds;
    };
    expect(await rollBack(second)).toBe(last);
    expect(await rollBack(third)).toBe(last);
    expect(await rollBack(last)).toBe(first);
    const { audit_entry } = await api.must("apply", await api.bring("approved"));
    expect(JSON.parse(audit_entry.detail).target_held).toBe(first);
    expect(await rollBack(first)).not.toBe(first);
    const { change_id } = audit_entry;
    expect(await rollBack(change_id)).toBeNull();
  });

  test("owners and live changes older than the entries in memory come from the index", async () => {
    const intent = { policy: { on_stale: "block", on_conflict: "block" } };
    const first = await core({ intent });
    const owner = await first.bring("applied");
    const live = await first.bring("approved", { target: "ui.b" });
    for (let index = 0; index < 9; index++) await first.propose({ target: `t${index}` });
    const deps = await restartDeps(first.deps, { intent });
    await openProduct(deps, { tail: 1 });
    const api = makeCore(deps);
    expect((await api.post("propose", { ...PROPOSAL, target: "ui.b" })).body.conflicts).toEqual([live]);
    const { audit_entry } = await api.must("approve", (await api.propose()).change_id);
    expect(JSON.parse(audit_entry.detail).target_owner).toBe(owner);
  });
});

describe("the owner of a target, in a process that has read only the newest entries", () => {
  /** Starts a process that reads only the last `tail` entries. */
  const startWithTail = async (api: Core, intent: TestOptions["intent"] = {}, tail = 1) => {
    const deps = await restartDeps(api.deps, { intent });
    await openProduct(deps, { tail });
    return makeCore(deps);
  };
  /** Edits a record so that it appears older than all entries that were read. */
  const backdate = async (api: Core, id: string, status: "applied" | "rolled_back" | "approved") => {
    const { change, ...record } = await readStoredRecord(api, id);
    await editStore(api, (tx) => tx.put("changes", id, { ...record, audit: [1], change: { ...change, status } }));
  };

  test.each(["rolled_back", "deleted"] as const)(
    "the owner below a rolled back change is found although its record is %s",
    async (edit) => {
      const first = await core();
      for (let index = 0; index < 9; index++) await first.propose({ target: `t${index}` });
      const api = await startWithTail(first);
      const [below, above] = [await api.bring("applied"), await api.bring("applied")];
      // The process has not read the first entries.
      expect(api.deps.integrity.logIndex!.after).toBeGreaterThan(0);
      if (edit === "deleted") await editStore(api, (tx) => tx.delete("changes", below));
      else await backdate(api, below, edit);
      await editStore(api, async (tx) => {
        for (const { id } of await tx.list("owners", { limit: 9 })) tx.delete("owners", id);
      });
      expect(JSON.parse((await api.must("rollback", above)).audit_entry.detail).target_holds).toBe(below);
    },
  );

  test("a rolled back change does not become the owner by an edit of its record", async () => {
    const first = await core();
    for (let index = 0; index < 9; index++) await first.propose({ target: `t${index}` });
    const api = await startWithTail(first);
    const [below, above] = [await api.bring("applied"), await api.bring("applied")];
    await api.must("rollback", below);
    await backdate(api, below, "applied");
    expect(JSON.parse((await api.must("rollback", above)).audit_entry.detail).target_holds).toBeNull();
  });

  test("forged rows of a closed change or of another target block nothing", async () => {
    const intent = { policy: { on_conflict: "block" } };
    const first = await core();
    const elsewhere = await first.bring("approved", { target: "ui.b" });
    for (let index = 0; index < 9; index++) await first.propose({ target: `t${index}` });
    const denied = await first.bring("denied");
    const api = await startWithTail(first, intent, 2);
    await backdate(api, denied, "approved");
    const targetKey = formatTargetKey({ target: PROPOSAL.target, tenant_id: PROPOSAL.tenant_id });
    await editStore(api, (tx) => {
      for (const id of [denied, elsewhere]) tx.put("live_by_target", targetKey + id, true);
    });
    expect((await api.post("propose", PROPOSAL)).status).toBe(201);
  });
});

describe("the reads of a decision do not grow with the history of its target", () => {
  /** Counts store requests during an action. */
  const countReads = async (api: Core, action: () => Promise<unknown>): Promise<number> => {
    const { store } = api.deps;
    const { transact } = store;
    let reads = 0;
    store.transact = (decide) =>
      transact.call(store, (tx) =>
        decide({
          ...tx,
          get: (...args) => (reads++, tx.get(...args)),
          getMany: (...args) => (reads++, tx.getMany(...args)),
          list: (...args) => (reads++, tx.list(...args)),
        } as Tx),
      ) as never;
    await action();
    store.transact = transact;
    return reads;
  };

  test("in a rollback of a change whose predecessors were all rolled back", async () => {
    const counts = [];
    for (const rounds of [3, 30]) {
      const api = await core();
      let last = await api.bring("applied");
      for (let round = 0; round < rounds; round++) {
        const next = await api.bring("applied");
        await api.must("rollback", last);
        last = next;
      }
      counts.push(await countReads(api, () => api.must("rollback", last)));
      expect(JSON.parse((await api.steps("?limit=1000")).at(-1).detail)).toMatchObject({
        target_held: null,
        target_holds: null,
      });
    }
    expect(counts[1]).toBe(counts[0]);
  });

  test("in a proposal that is rejected under a policy newer than the earlier proposals", async () => {
    const counts = [];
    for (const rounds of [3, 30]) {
      const api = await core();
      for (let round = 0; round < rounds; round++) await api.bring("denied");
      await api.bring("approved");
      const later = makeCore(await restartDeps(api.deps, { intent: { policy: { on_conflict: "block" } } }));
      counts.push(
        await countReads(later, async () =>
          expect((await later.post("propose", PROPOSAL)).body.code).toBe("target_conflict"),
        ),
      );
    }
    expect(counts[1]).toBe(counts[0]);
  });
});

describe("a response stored under an Idempotency-Key", () => {
  const approveWithKey = async () => {
    const api = await core();
    const id = await api.bring("pending_consent");
    const send = () => api.post("approve", { change_id: id, approver: "ana" }, { "idempotency-key": "k" });
    return { api, id, first: await send(), send };
  };
  /** Edits the body of the stored response. */
  const editResponse = (api: Core, change: (body: Record<string, object>) => object) =>
    editStore(api, async (tx) => {
      const collection = "idempotency" as Collection as "idempotency";
      for (const { id, value } of await tx.list(collection, { limit: 9 })) {
        const answer = { ...value.answer, text: JSON.stringify(change(JSON.parse(value.answer.text))) };
        tx.put(collection, id, { ...value, answer });
      }
    });

  test("is returned again while it matches the log", async () => {
    const { first, send, api, id } = await approveWithKey();
    await api.must("apply", id);
    expect((await send()).text).toBe(first.text);
  });

  test("is stored without its audit entry, which comes from the log", async () => {
    const { first, api } = await approveWithKey();
    const [stored] = await api.deps.store.texts("idempotency" as Collection, { limit: 9 });
    expect(stored!.text).not.toContain(first.body.audit_entry.current_hash);
  });

  test.each([
    ["status", (body) => ({ ...body, status: "denied" })],
    ["entry", (body) => ({ ...body, audit_entry: 2 })],
    ["entry, which is of no change", (body) => ({ ...body, audit_entry: 1 })],
    ["change, which is null", (body) => ({ ...body, change: null })],
    ["entry, which does not exist", (body) => ({ ...body, audit_entry: 99 })],
    ["change", ({ change, ...body }) => ({ ...body, change: { ...change, summary: "another" } })],
    ["body, without its entry", ({ audit_entry: _, ...body }) => body],
  ] as [string, (body: Record<string, object>) => object][])(
    "is rejected when edited to have another %s",
    async (_, forge) => {
      const { send, api } = await approveWithKey();
      await editResponse(api, forge);
      expect((await send()).body).toMatchObject({ status: 409, code: "evidence_mismatch", fields: ["idempotency"] });
    },
  );
});

describe("a forged lease", () => {
  const EXPIRED_LEASE = {
    owner: "gone",
    number: 1,
    at: "2026-01-02T03:04:05.678Z",
    ends: 0,
    state: "running",
    actor: null,
    authenticated: null,
  } as const;

  test.each([
    ["unchanged", {}],
    ["edited", { status: "approved" as const }],
  ])("does not undo an apply that is in the log, while the record is %s", async (_, edited) => {
    const adapter = scriptedAdapter();
    const api = await core({ adapter });
    const id = await api.bring("applied");
    const record = await readStoredRecord(api, id);
    const leaseKey = formatTargetChangeKey(record.change);
    await editStore(api, (tx) => {
      tx.put("leases", leaseKey, { ...EXPIRED_LEASE, operation: "apply", change_id: id, place: leaseKey });
      tx.put("changes", id, { ...record, change: { ...record.change, ...edited } });
    });
    const { length } = await api.audit();
    await api.cycle();
    expect(adapter.host.get(id)).toBe("applied");
    expect(await api.audit()).toHaveLength(length);
    expect(await api.deps.store.get("leases", leaseKey)).toBeUndefined();
  });

  test.each([
    ["that is null", null],
    ["without a change", { ...EXPIRED_LEASE, operation: "apply" }],
  ])("%s does not prevent the recovery of others", async (_, invalid) => {
    const api = await core({ adapter: scriptedAdapter() });
    const { change } = await readStoredRecord(api, await api.bring("approved"));
    const leaseKey = formatTargetChangeKey(change);
    await editStore(api, (tx) => {
      tx.put("leases", "a", invalid as never);
      tx.put("leases", leaseKey, {
        ...EXPIRED_LEASE,
        operation: "apply",
        change_id: change.change_id,
        place: leaseKey,
      });
    });
    expect((await api.cycle()).recovered).toBe(1);
    expect((await restartDeps(api.deps, { adapter: scriptedAdapter() })).integrity.breach).toBeUndefined();
  });
});

test.each([null, 5, {}, { change: null, audit: [] }, { change: {}, audit: [1] }])(
  "a stored record that is %j is rejected and reported, and other changes work",
  async (invalid) => {
    const api = await core();
    const id = await api.bring("approved");
    const other = await api.bring("approved", { target: "ui.b" });
    const another = await api.bring("approved", { target: "ui.c" });
    await api.must("apply", other);
    await editStore(api, (tx) => tx.put("changes", id, invalid as never));
    await scanIntegrity(api.deps);
    expect(listKnownMismatches(api.deps.integrity).get(id)).toContain("record");
    expect((await reconcile(api.deps)).mismatches.map(({ change_id }) => change_id)).toEqual([id]);
    for (const action of ["apply", "rollback", "revoke"] as const)
      expect((await api.act(action, id)).body).toMatchObject({ code: "evidence_mismatch", fields: ["record"] });
    expect((await api.act("revoke", another)).status).toBe(200);
    expect((await api.act("rollback", other)).status).toBe(200);
  },
);
