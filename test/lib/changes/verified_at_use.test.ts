/** Decisions rest on the log at the moment of use: edits in the store alone decide nothing. */
import { describe, expect, test } from "vitest";
import { foldEntries } from "../../../lib/changes/ledger/verify_record.ts";
import { listKnownMismatches, scanIntegrity } from "../../../lib/changes/integrity_scan.ts";
import { reconcile } from "../../../lib/changes/reconcile.ts";
import { openProduct } from "../../../lib/changes/open.ts";
import { formatTargetChangeKey, readRecord, formatTargetKey } from "../../../lib/changes/records.ts";
import { entryKey } from "../../../lib/audit/chain.ts";
import { pickContent } from "../../../lib/changes/rules/content.ts";
import { toChange, type ChangeRecord } from "../../../lib/changes/rules/record.ts";
import type { Collection, Tx } from "../../../lib/store/store.ts";
import { HOUR, pass } from "../../support/clock.ts";
import { type Core, core, makeCore } from "../../support/core.ts";
import { restarted, type TestOptions } from "../../support/deps.ts";
import { hashEntry } from "../../support/independent_chain.ts";
import { PROPOSAL } from "../../support/client.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";

/** Edits the store behind the service's back. */
const edit = (api: Core, change: (tx: Tx) => Promise<void> | void): Promise<void> => api.deps.store.transact(change);

const recordOf = async (api: Core, id: string) => (await readRecord(api.deps.store, id)) as ChangeRecord;

/** The service as it is, and another process that was just started on its store. */
const PROCESSES: [what: string, over: (api: Core, options?: TestOptions) => Promise<Core>][] = [
  ["the process that wrote it", async (api) => api],
  ["another process", async (api, over) => makeCore(await restarted(api.deps, over))],
];

describe.each(PROCESSES)("a record that is set back, to %s", (_, processOf) => {
  test.each([
    ["revoked", "approved", "apply"],
    ["denied", "pending_consent", "approve"],
    ["withdrawn", "pending_consent", "approve"],
  ] as const)("a change that was %s does not come back as %s", async (end, before, ask) => {
    const adapter = scriptedAdapter();
    const first = await core({ adapter });
    const id = await first.bring(before);
    const kept = await recordOf(first, id);
    await first.must(({ revoked: "revoke", denied: "deny", withdrawn: "withdraw" } as const)[end], id);
    await edit(first, (tx) => tx.put("changes", id, kept));
    const api = await processOf(first);
    expect((await api.act(ask, id)).body).toMatchObject({ status: 409, code: "evidence_mismatch", fields: ["audit"] });
    expect(adapter.calls).toEqual([]);
    expect(await api.audit()).toHaveLength((await first.audit()).length);
  });

  test("what was applied is not applied again", async () => {
    const adapter = scriptedAdapter();
    const first = await core({ adapter });
    const id = await first.bring("approved");
    const kept = await recordOf(first, id);
    await first.must("apply", id);
    adapter.calls.length = 0;
    await edit(first, (tx) => tx.put("changes", id, kept));
    const api = await processOf(first);
    expect((await api.act("apply", id)).body.code).toBe("evidence_mismatch");
    expect(adapter.calls).toEqual([]);
  });

  test("nor rolled back again; another change goes its way meanwhile", async () => {
    const adapter = scriptedAdapter();
    const first = await core({ adapter });
    const id = await first.bring("applied");
    const kept = await recordOf(first, id);
    await first.must("rollback", id);
    adapter.calls.length = 0;
    await edit(first, (tx) => tx.put("changes", id, kept));
    const api = await processOf(first);
    expect((await api.act("rollback", id)).body).toMatchObject({ status: 400, code: "illegal_transition" });
    expect(adapter.calls).not.toContain("rollback");
    await api.bring("rolled_back");
  });
});

test("what is applied can be rolled back though its record was edited, as the log tells of it", async () => {
  const api = await core({ adapter: scriptedAdapter() });
  const id = await api.bring("applied");
  const { change, ...record } = await recordOf(api, id);
  await edit(api, (tx) => tx.put("changes", id, { ...record, change: { ...change, status: "denied" } }));
  expect((await api.act("approve", id)).body.code).toBe("evidence_mismatch");
  expect((await api.must("rollback", id)).status).toBe("rolled_back");
  expect((await recordOf(api, id)).change.status).toBe("rolled_back");
});

test("an applied change whose target was edited is not rolled back: nobody knows of where", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const id = await api.bring("applied");
  const { change, ...record } = await recordOf(api, id);
  adapter.calls.length = 0;
  await edit(api, (tx) => tx.put("changes", id, { ...record, change: { ...change, target: "other" } }));
  expect((await api.act("rollback", id)).body).toMatchObject({ code: "evidence_mismatch", fields: ["content"] });
  expect(adapter.calls).not.toContain("rollback");
});

test("a change whose content was edited can be closed", async () => {
  for (const [status, ask] of [
    ["approved", "revoke"],
    ["pending_consent", "deny"],
    ["pending_consent", "withdraw"],
  ] as const) {
    const api = await core();
    const id = await api.bring(status);
    const { change, ...record } = await recordOf(api, id);
    await edit(api, (tx) => tx.put("changes", id, { ...record, change: { ...change, summary: "another" } }));
    expect((await api.must(ask, id)).status).toBe("denied");
  }
});

test("changes that are overdue are denied next to one whose record was edited", async () => {
  const api = await core({ intent: { policy: { consent_ttl_hours: 1 } } });
  const [edited, other] = [await api.bring("pending_consent"), await api.bring("pending_consent")];
  const { change, ...record } = await recordOf(api, edited);
  await edit(api, (tx) => tx.put("changes", edited, { ...record, change: { ...change, required_approvers: 7 } }));
  await pass(api.deps, 2 * HOUR);
  await api.cycle();
  expect((await api.change(other)).status).toBe("denied");
  expect((await recordOf(api, edited)).change.status).toBe("pending_consent");
});

describe("an entry", () => {
  const edits: [what: string, edit: (api: Core, id: string) => Promise<void>][] = [
    [
      "edited",
      (api, id) =>
        edit(api, async (tx) => {
          const { audit } = await recordOf(api, id);
          const key = String(audit[0]).padStart(16, "0");
          const entry = (await tx.get("audit", key))!.value;
          tx.put("audit", key, { ...entry, detail: entry.detail.replace("pending_consent", "approved") });
        }),
    ],
    [
      "of another change in its place",
      (api, id) =>
        edit(api, async (tx) => {
          const key = String((await recordOf(api, id)).audit[0]).padStart(16, "0");
          const other = (await tx.list("audit", { limit: 9 })).find((kept) => kept.id !== key)!;
          tx.put("audit", key, other.value);
        }),
    ],
    [
      "gone",
      (api, id) =>
        edit(api, async (tx) => tx.delete("audit", String((await recordOf(api, id)).audit[0]).padStart(16, "0"))),
    ],
  ];
  test.each(edits)("%s: the chain is broken, and nothing is written from then on", async (_, tamper) => {
    const api = await core();
    const id = await api.bring("approved");
    await api.bring("approved");
    await tamper(api, id);
    const { status, body } = await api.act("apply", id);
    expect([status, body.code]).toEqual([503, "chain_broken"]);
    expect((await api.post("kpi", { csat: 1 })).body.code).toBe("chain_broken");
  });
});

test("a denial turned into an approval, with matching hash and record, is a broken chain", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const id = await api.bring("denied");
  await api.bring("approved");
  await edit(api, async (tx) => {
    const record = await recordOf(api, id);
    const key = String(record.audit[1]).padStart(16, "0");
    const entry = (await tx.get("audit", key))!.value;
    const detail = { ...JSON.parse(entry.detail), decision: "approved", status: "approved" };
    const forged = { ...entry, detail: JSON.stringify(detail) };
    tx.put("audit", key, { ...forged, current_hash: hashEntry(forged) });
    const [proposal] = await tx.getMany("audit", [String(record.audit[0]).padStart(16, "0")]);
    const state = foldEntries([proposal!.value, { ...forged, current_hash: "" }])!;
    tx.put("changes", id, { ...state, change: toChange(state, pickContent(record.change)) });
  });
  expect((await api.act("apply", id)).body.code).toBe("chain_broken");
  expect(adapter.calls).toEqual([]);
});

test("a log whose tail was cut is found to be when the next decision reads it", async () => {
  const api = await core();
  const id = await api.bring("approved");
  const { value: before } = (await api.deps.store.get("meta", "chain"))!;
  await api.post("kpi", { csat: 4 });
  await edit(api, (tx) => {
    tx.put("meta", "chain", before);
    tx.delete("audit", String(before.length + 1).padStart(16, "0"));
  });
  expect((await api.act("apply", id)).body.code).toBe("chain_broken");
});

test("minor changes are counted by the log: no counter can be set back", async () => {
  const policy = { minor: { kinds: ["config"], targets: ["ui.*"], max_per_day: 2 } };
  const first = await core({ intent: { policy } });
  const minor = { tier: "minor", kind: "config", target: "ui.x", affected_users: 1, risk: "low", reversible: true };
  for (const api of [first, makeCore(await restarted(first.deps, { intent: { policy } }))])
    expect((await api.propose(minor)).tier).toBe("minor");
  await edit(first, (tx) => tx.put("counts" as "meta", "minor" as never, { day: "2026-01-02", count: 0 } as never));
  for (const api of [first, makeCore(await restarted(first.deps, { intent: { policy } }))])
    expect((await api.propose(minor)).tier).toBe("standard");
  first.deps.clock.advance(24 * HOUR);
  expect((await first.propose(minor)).tier).toBe("minor");
});

describe("a freeze", () => {
  test("that is taken out of the store still holds", async () => {
    const api = await core();
    const id = await api.bring("approved");
    await api.post("freeze", { actor: "ana", note: "audit" });
    await edit(api, (tx) => tx.delete("meta", "freeze"));
    expect((await api.act("apply", id)).body).toMatchObject({ code: "frozen", freeze: { actor: "ana" } });
    expect((await api.post("unfreeze", { actor: "ana" })).status).toBe(200);
    expect((await api.act("apply", id)).status).toBe(200);
  });

  test("that the log does not tell of holds nothing", async () => {
    const api = await core();
    const id = await api.bring("approved");
    await edit(api, (tx) => tx.put("meta", "freeze", { actor: "eve", note: "", until: null, at: "", entry: 1 }));
    expect((await api.act("apply", id)).status).toBe(200);
  });
});

test("a KPI that was edited in the store is remembered of an apply as the log tells it", async () => {
  const api = await core();
  await api.post("kpi", { csat: 4 });
  await edit(api, async (tx) => {
    const kept = (await tx.get("kpi", "latest"))!.value;
    tx.put("kpi", "latest", { ...kept, values: { csat: { ...kept.values["csat"]!, value: 1 } } });
  });
  const { audit_entry } = await api.must("apply", await api.bring("approved"));
  expect(JSON.parse(audit_entry.detail).kpis).toEqual({ csat: 4 });
});

test("nor one that was set back to an earlier feed", async () => {
  const goal = { baseline: 1, target: 2 };
  const api = await core({ intent: { kpis: { csat: goal, churn: goal } } });
  await api.post("kpi", { csat: 4, churn: 9 });
  const { value: before } = (await api.deps.store.get("kpi", "latest"))!;
  await api.post("kpi", { csat: 3 });
  await edit(api, (tx) => tx.put("kpi", "latest", before));
  const { audit_entry } = await api.must("apply", await api.bring("approved"));
  expect(JSON.parse(audit_entry.detail).kpis).toEqual({ csat: 3, churn: 9 });
});

describe("what a target holds, and what waits for it", () => {
  const policy = { on_conflict: "block", on_stale: "block" };
  /** Takes the rows of a view out, or puts one in. */
  const takeOut = (api: Core, view: "live_by_target" | "owners") =>
    edit(api, async (tx) => {
      for (const { id } of await tx.list(view, { limit: 9 })) tx.delete(view, id);
    });

  test.each(PROCESSES)(
    "a live change that is taken out of the view still blocks the next one, to %s",
    async (_, processOf) => {
      const first = await core({ intent: { policy } });
      const live = await first.bring("approved");
      await takeOut(first, "live_by_target");
      const api = await processOf(first, { intent: { policy } });
      const { status, body } = await api.post("propose", PROPOSAL);
      expect([status, body.code, body.conflicts]).toEqual([409, "target_conflict", [live]]);
      await api.must("apply", live);
      expect((await api.post("propose", PROPOSAL)).status).toBe(201);
    },
  );

  test("one that is put into it blocks nothing", async () => {
    const first = await core();
    const { change_id, ...place } = await first.change(await first.bring("applied"));
    await edit(first, (tx) => {
      tx.put("live_by_target", formatTargetChangeKey({ ...place, change_id }), true);
      tx.put("live_by_target", formatTargetChangeKey({ ...place, change_id: "chg_none" }), true);
    });
    const api = makeCore(await restarted(first.deps, { intent: { policy } }));
    expect((await api.post("propose", PROPOSAL)).status).toBe(201);
  });

  test("an apply that is taken out of the view has moved the target all the same", async () => {
    const intent = { policy: { on_stale: "block" } };
    const first = await core({ intent });
    const id = await first.bring("approved");
    const other = await first.bring("applied");
    await takeOut(first, "owners");
    const api = makeCore(await restarted(first.deps, { intent }));
    expect((await api.act("apply", id)).body).toMatchObject({
      code: "target_moved",
      target_owner: { before: null, now: other },
    });
  });

  test("one that is put into it has not, nor one that was rolled back since", async () => {
    const intent = { policy: { on_stale: "block" } };
    const first = await core({ intent });
    const gone = await first.bring("applied");
    const { applied } = await recordOf(first, gone);
    await first.must("rollback", gone);
    const id = await first.bring("pending_consent");
    expect(JSON.parse((await first.must("approve", id)).audit_entry.detail).target_owner).toBeNull();
    const elsewhere = await first.bring("applied", { target: "ui.b" });
    const { applied: other } = await recordOf(first, elsewhere);
    const untouched = await first.bring("approved", { target: "ui.c" });
    const places = [formatTargetKey(await first.change(id)), formatTargetKey(await first.change(untouched))];
    await edit(first, (tx) => {
      for (const place of places) {
        tx.put("owners", place + entryKey(applied!.entry), gone);
        tx.put("owners", place + entryKey(other!.entry), elsewhere);
        tx.put("owners", place + entryKey(9999), elsewhere);
      }
    });
    const api = makeCore(await restarted(first.deps, { intent }));
    for (const one of [id, untouched]) expect((await api.act("apply", one)).status).toBe(200);
  });

  test("applies and rollbacks tell what the target holds, whatever the view says of it", async () => {
    const api = await core();
    const ids = [];
    for (let made = 0; made < 4; made++) ids.push(await api.bring("applied"));
    const [first, second, third, last] = ids as [string, string, string, string];
    const holds = async (id: string) => {
      await takeOut(api, "owners");
      return JSON.parse((await api.must("rollback", id)).audit_entry.detail).target_holds;
    };
    expect(await holds(second)).toBe(last);
    expect(await holds(third)).toBe(last);
    expect(await holds(last)).toBe(first);
    const { audit_entry } = await api.must("apply", await api.bring("approved"));
    expect(JSON.parse(audit_entry.detail).target_held).toBe(first);
    expect(await holds(first)).not.toBe(first);
    const { change_id } = audit_entry;
    expect(await holds(change_id)).toBeNull();
  });

  test("of what is older than all that was read, the views say it", async () => {
    const intent = { policy: { on_stale: "block", on_conflict: "block" } };
    const first = await core({ intent });
    const owner = await first.bring("applied");
    const live = await first.bring("approved", { target: "ui.b" });
    for (let other = 0; other < 9; other++) await first.propose({ target: `t${other}` });
    const deps = await restarted(first.deps, { intent });
    await openProduct(deps, { tail: 1 });
    const api = makeCore(deps);
    expect((await api.post("propose", { ...PROPOSAL, target: "ui.b" })).body.conflicts).toEqual([live]);
    const { audit_entry } = await api.must("approve", (await api.propose()).change_id);
    expect(JSON.parse(audit_entry.detail).target_owner).toBe(owner);
  });
});

describe("what a target holds, to a process that read only the newest of the log", () => {
  const late = async (api: Core, intent: TestOptions["intent"] = {}, tail = 1) => {
    const deps = await restarted(api.deps, { intent });
    await openProduct(deps, { tail });
    return makeCore(deps);
  };
  /** A record that says of itself that it is older than all that was read. */
  const backdate = async (api: Core, id: string, status: "applied" | "rolled_back" | "approved") => {
    const { change, ...record } = await recordOf(api, id);
    await edit(api, (tx) => tx.put("changes", id, { ...record, audit: [1], change: { ...change, status } }));
  };

  test.each(["rolled_back", "gone"] as const)(
    "a change under another is not hidden by a record that is %s",
    async (how) => {
      const first = await core();
      for (let other = 0; other < 9; other++) await first.propose({ target: `t${other}` });
      const api = await late(first);
      const [below, above] = [await api.bring("applied"), await api.bring("applied")];
      expect(api.deps.integrity.logIndex!.after).toBeGreaterThan(0);
      if (how === "gone") await edit(api, (tx) => tx.delete("changes", below));
      else await backdate(api, below, how);
      await edit(api, async (tx) => {
        for (const { id } of await tx.list("owners", { limit: 9 })) tx.delete("owners", id);
      });
      expect(JSON.parse((await api.must("rollback", above)).audit_entry.detail).target_holds).toBe(below);
    },
  );

  test("one that was rolled back is not brought back by its record", async () => {
    const first = await core();
    for (let other = 0; other < 9; other++) await first.propose({ target: `t${other}` });
    const api = await late(first);
    const [below, above] = [await api.bring("applied"), await api.bring("applied")];
    await api.must("rollback", below);
    await backdate(api, below, "applied");
    expect(JSON.parse((await api.must("rollback", above)).audit_entry.detail).target_holds).toBeNull();
  });

  test("nor is one that is closed, or waits elsewhere, made to wait here", async () => {
    const intent = { policy: { on_conflict: "block" } };
    const first = await core();
    const elsewhere = await first.bring("approved", { target: "ui.b" });
    for (let other = 0; other < 9; other++) await first.propose({ target: `t${other}` });
    const denied = await first.bring("denied");
    const api = await late(first, intent, 2);
    await backdate(api, denied, "approved");
    const here = formatTargetKey({ target: PROPOSAL.target, tenant_id: PROPOSAL.tenant_id });
    await edit(api, (tx) => {
      for (const id of [denied, elsewhere]) tx.put("live_by_target", here + id, true);
    });
    expect((await api.post("propose", PROPOSAL)).status).toBe(201);
  });
});

describe("what a decision reads of a target does not grow with its history", () => {
  /** Counts store requests during an action. */
  const asked = async (api: Core, what: () => Promise<unknown>): Promise<number> => {
    const { store } = api.deps;
    const { transact } = store;
    let reads = 0;
    store.transact = (decide) =>
      transact.call(store, (tx) =>
        decide({
          ...tx,
          get: (...of) => (reads++, tx.get(...of)),
          getMany: (...of) => (reads++, tx.getMany(...of)),
          list: (...of) => (reads++, tx.list(...of)),
        } as Tx),
      ) as never;
    await what();
    store.transact = transact;
    return reads;
  };

  test("where each change was taken back after the next was applied over it", async () => {
    const counts = [];
    for (const rounds of [3, 30]) {
      const api = await core();
      let last = await api.bring("applied");
      for (let round = 0; round < rounds; round++) {
        const next = await api.bring("applied");
        await api.must("rollback", last);
        last = next;
      }
      counts.push(await asked(api, () => api.must("rollback", last)));
      expect(JSON.parse((await api.steps("?limit=1000")).at(-1).detail)).toMatchObject({
        target_held: null,
        target_holds: null,
      });
    }
    expect(counts[1]).toBe(counts[0]);
  });

  test("where a proposal is refused under a policy that came later than those before it", async () => {
    const counts = [];
    for (const rounds of [3, 30]) {
      const api = await core();
      for (let round = 0; round < rounds; round++) await api.bring("denied");
      await api.bring("approved");
      const later = makeCore(await restarted(api.deps, { intent: { policy: { on_conflict: "block" } } }));
      counts.push(
        await asked(later, async () =>
          expect((await later.post("propose", PROPOSAL)).body.code).toBe("target_conflict"),
        ),
      );
    }
    expect(counts[1]).toBe(counts[0]);
  });
});

describe("an answer that is kept under an Idempotency-Key", () => {
  const answered = async () => {
    const api = await core();
    const id = await api.bring("pending_consent");
    const ask = () => api.post("approve", { change_id: id, approver: "ana" }, { "idempotency-key": "k" });
    return { api, id, first: await ask(), ask };
  };
  const rewrite = (api: Core, change: (body: Record<string, object>) => object) =>
    edit(api, async (tx) => {
      const collection = "idempotency" as Collection as "idempotency";
      for (const { id, value } of await tx.list(collection, { limit: 9 })) {
        const answer = { ...value.answer, text: JSON.stringify(change(JSON.parse(value.answer.text))) };
        tx.put(collection, id, { ...value, answer });
      }
    });

  test("is given again while the log tells the same", async () => {
    const { first, ask, api, id } = await answered();
    await api.must("apply", id);
    expect((await ask()).text).toBe(first.text);
  });

  test("has its entry from the log, which alone keeps it", async () => {
    const { first, api } = await answered();
    const [kept] = await api.deps.store.texts("idempotency" as Collection, { limit: 9 });
    expect(kept!.text).not.toContain(first.body.audit_entry.current_hash);
  });

  test.each([
    ["status", (body) => ({ ...body, status: "denied" })],
    ["entry", (body) => ({ ...body, audit_entry: 2 })],
    ["entry, of no change", (body) => ({ ...body, audit_entry: 1 })],
    ["change, which is none", (body) => ({ ...body, change: null })],
    ["entry that is not there", (body) => ({ ...body, audit_entry: 99 })],
    ["change", ({ change, ...body }) => ({ ...body, change: { ...change, summary: "another" } })],
    ["entry's absence", ({ audit_entry: _, ...body }) => body],
  ] as [string, (body: Record<string, object>) => object][])("and not with another %s", async (_, forged) => {
    const { ask, api } = await answered();
    await rewrite(api, forged);
    expect((await ask()).body).toMatchObject({ status: 409, code: "evidence_mismatch", fields: ["idempotency"] });
  });
});

describe("a lease that somebody wrote", () => {
  const GONE = {
    owner: "gone",
    number: 1,
    at: "2026-01-02T03:04:05.678Z",
    ends: 0,
    state: "running",
    actor: null,
    authenticated: null,
  } as const;

  test.each([
    ["as it is", {}],
    ["edited too", { status: "approved" as const }],
  ])("takes nothing back that the log has as applied, of a record %s", async (_, edited) => {
    const adapter = scriptedAdapter();
    const api = await core({ adapter });
    const id = await api.bring("applied");
    const record = await recordOf(api, id);
    const place = formatTargetChangeKey(record.change);
    await edit(api, (tx) => {
      tx.put("leases", place, { ...GONE, operation: "apply", change_id: id, place });
      tx.put("changes", id, { ...record, change: { ...record.change, ...edited } });
    });
    const { length } = await api.audit();
    await api.cycle();
    expect(adapter.host.get(id)).toBe("applied");
    expect(await api.audit()).toHaveLength(length);
    expect(await api.deps.store.get("leases", place)).toBeUndefined();
  });

  test.each([
    ["no lease", null],
    ["of no change", { ...GONE, operation: "apply" }],
  ])("%s, keeps none from being settled", async (_, bad) => {
    const api = await core({ adapter: scriptedAdapter() });
    const { change } = await recordOf(api, await api.bring("approved"));
    const place = formatTargetChangeKey(change);
    await edit(api, (tx) => {
      tx.put("leases", "a", bad as never);
      tx.put("leases", place, { ...GONE, operation: "apply", change_id: change.change_id, place });
    });
    expect((await api.cycle()).recovered).toBe(1);
    expect((await restarted(api.deps, { adapter: scriptedAdapter() })).integrity.breach).toBeUndefined();
  });
});

test.each([null, 5, {}, { change: null, audit: [] }, { change: {}, audit: [1] }])(
  "what is no record, as %j, is refused and named, and holds nothing else up",
  async (bad) => {
    const api = await core();
    const id = await api.bring("approved");
    const other = await api.bring("approved", { target: "ui.b" });
    const another = await api.bring("approved", { target: "ui.c" });
    await api.must("apply", other);
    await edit(api, (tx) => tx.put("changes", id, bad as never));
    await scanIntegrity(api.deps);
    expect(listKnownMismatches(api.deps.integrity).get(id)).toContain("record");
    expect((await reconcile(api.deps)).mismatches.map(({ change_id }) => change_id)).toEqual([id]);
    for (const ask of ["apply", "rollback", "revoke"] as const)
      expect((await api.act(ask, id)).body).toMatchObject({ code: "evidence_mismatch", fields: ["record"] });
    expect((await api.act("revoke", another)).status).toBe(200);
    expect((await api.act("rollback", other)).status).toBe(200);
  },
);
