import { MANDATE_EVENTS } from "../../../lib/changes/rules/mandate_record.ts";
import { expect, test } from "vitest";
import { entryKey, nextEntry, readHead } from "../../../lib/audit/chain.ts";
import { EVENT_TYPES, type EventType } from "../../../lib/audit/entry.ts";
import { foldEntries } from "../../../lib/changes/ledger/verify_record.ts";
import { reconcile } from "../../../lib/changes/reconcile.ts";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { contentDigest } from "../../../lib/changes/rules/content.ts";
import { type ApplyRecord, toChange, type ChangeRecord } from "../../../lib/changes/rules/record.ts";
import { fromStoredChange } from "../../../lib/changes/rules/stored_record.ts";
import type { Store } from "../../../lib/store/store.ts";
import { PROPOSAL, type Reachable } from "../../support/client.ts";
import { DAY, HOUR, pass } from "../../support/clock.ts";
import { core, type Core } from "../../support/core.ts";
import { chainFault } from "../../support/independent_chain.ts";
import { inLong } from "../../support/length.ts";
import { numbers } from "../../support/numbers.ts";
import { fails, type ScriptedAdapter, scriptedAdapter } from "../../support/scripted_adapter.ts";
import { realLog } from "../../tamper/real_log.ts";

const SOUND = { mismatched: 0, mismatches: [], unsettled: 0 };

test("every change of a real log is what the log says of it", async () => {
  const { deps } = await realLog();
  const changes = await deps.store.list("changes", { limit: 1000 });
  expect(await reconcile(deps)).toEqual({ ...SOUND, compared: changes.length });
});

test("so are minor, expired and half-approved changes, and those a guardrail rolled back", async () => {
  const minor = { kinds: ["config"], targets: ["*"], max_risk: "low" };
  const guardrails = [{ kpi: "csat", max_regression: 0.1, action: "rollback" }];
  const api = await core({
    intent: { policy: { minor, guardrails, consent_ttl_hours: 1, required_approvers: { major: 2 } } },
  });
  const { status } = await api.propose({ tier: "minor", risk: "low", affected_users: 1, reversible: true });
  expect(status).toBe("approved");
  await api.propose();
  api.deps.clock.advance(2 * HOUR);
  await api.cycle();
  await api.must("approve", (await api.propose({ tier: "major" })).change_id);
  await api.post("kpi", { csat: 4 });
  await api.bring("applied", { kpi: "csat" });
  await api.post("kpi", { csat: 1 });
  expect((await api.cycle()).rolled_back).not.toBeNull();
  expect(await reconcile(api.deps)).toEqual({ ...SOUND, compared: 4 });
});

/** Edits a stored record without a log entry. */
async function edit(api: Core, id: string, by: (record: ChangeRecord) => unknown): Promise<void> {
  const { store } = api.deps;
  const value = (await store.get("changes", id))!.value as ChangeRecord;
  await store.transact((tx) => tx.put("changes", id, by(value) as ChangeRecord));
}

const withChange = (over: Partial<Change>) => (record: ChangeRecord) => ({
  ...record,
  change: { ...record.change, ...over },
});

const withApplied = (record: ChangeRecord, over: Partial<ApplyRecord>) => ({
  ...record,
  applied: { ...record.applied!, ...over },
});

test.each<[string, string[], (record: ChangeRecord) => unknown]>([
  ["a status", ["status"], withChange({ status: "approved" })],
  ["a resolution", ["approval_note", "resolution"], withChange({ resolution: "expired", approval_note: "n" })],
  ["the content", ["content"], withChange({ value: { on: true } })],
  ["the content and its digest", ["content", "digest"], withChange({ target: "billing.plan", digest: "0".repeat(64) })],
  [
    "an approver",
    ["approvals"],
    (record) => withChange({ approvals: [{ ...record.change.approvals[0]!, approver: "bo" }] })(record),
  ],
  [
    "an approval's note",
    ["approvals"],
    (record) => withChange({ approvals: [{ ...record.change.approvals[0]!, note: "no" }] })(record),
  ],
  [
    "an approval too many",
    ["approvals"],
    (record) => withChange({ approvals: [record.change.approvals[0]!, record.change.approvals[0]!] })(record),
  ],
  ["no approval", ["approvals"], withChange({ approvals: [] })],
  ["the note shown", ["approval_note"], withChange({ approval_note: "other" })],
  ["the name shown", ["approver"], withChange({ approver: "bo" })],
  ["how many must consent", ["required_approvers"], withChange({ required_approvers: 2 })],
  ["when it was applied", ["applied_at"], withChange({ applied_at: "2026-01-03T00:00:00.000Z" })],
  ["when it was decided", ["decided_at"], withChange({ decided_at: null })],
  ["when it was proposed", ["created_at"], withChange({ created_at: "2026-01-01T00:00:00.000Z" })],
  ["when it was rolled back", ["rolled_back_at"], withChange({ rolled_back_at: "2026-01-03T00:00:00.000Z" })],
  ["its revision", ["revision"], withChange({ revision: 9 })],
  ["its entries", ["audit"], (record) => ({ ...record, audit: [1] })],
  ["its entries, to some that are still to come", ["audit"], (record) => ({ ...record, audit: [...record.audit, 99] })],
  ["what it puts in force again", ["supersedes"], withChange({ supersedes: "chg_0" })],
  ["what the KPIs were at its apply", ["applied"], (record) => withApplied(record, { kpis: { csat: 5 } })],
  ["what its target held before", ["applied"], (record) => withApplied(record, { previous_digest: null })],
  ["which entry applied it", ["applied"], (record) => withApplied(record, { entry: 1 })],
  ["that it was applied", ["applied"], (record) => ({ ...record, applied: null })],
  ["its apply and its owner, left out", ["applied", "target_owner"], ({ change, audit }) => ({ change, audit })],
  ["its shape", ["record"], () => ({ change: null, audit: [] })],
])("a record edited in %s does not hold", async (_, fields, by) => {
  const api = await core();
  await api.bring("denied");
  const change_id = await api.bring("applied");
  await edit(api, change_id, by);
  const { mismatches, ...report } = await reconcile(api.deps);
  expect(report).toMatchObject({ compared: 2, mismatched: 1 });
  expect(mismatches.map(({ change_id, fields }) => [change_id, fields.toSorted()])).toEqual([
    [change_id, fields.toSorted()],
  ]);
});

test("a record that was set back to what it was before its last entry does not hold", async () => {
  const api = await core();
  const change_id = await api.bring("approved");
  const { value: earlier } = (await api.deps.store.get("changes", change_id))!;
  await api.must("apply", change_id);
  await api.deps.store.transact((tx) => tx.put("changes", change_id, earlier));
  expect((await reconcile(api.deps)).mismatches).toEqual([{ change_id, fields: ["live_by_target", "audit"] }]);
});

test.each<[string, Reachable | undefined]>([
  ["one the log does not know", "denied"],
  ["the same under another name, which does not stand for it", undefined],
])("a record that is missing, and %s", async (_, other) => {
  const api = await core();
  const gone = await api.bring("applied");
  const model = other ? await api.bring(other) : gone;
  const { value } = (await api.deps.store.get("changes", model))!;
  await api.deps.store.transact((tx) => {
    tx.delete("changes", gone);
    tx.put("changes", "chg_forged", value);
  });
  expect((await reconcile(api.deps)).mismatches).toEqual([
    { change_id: "chg_forged", fields: ["audit"] },
    { change_id: gone, fields: ["record"] },
  ]);
});

test("an entry that no record knows is found wherever it lies among those that are known", async () => {
  const api = await core();
  const known: string[] = [];
  for (let n = 0; n < 6; n++) known.push(await api.bring("denied"));
  const gone = [known[0]!, known[3]!, known[5]!];
  await api.deps.store.transact((tx) => gone.forEach((id) => tx.delete("changes", id)));
  const { mismatches, ...report } = await reconcile(api.deps);
  expect(report).toEqual({ compared: 3, mismatched: 3, unsettled: 0 });
  expect(mismatches).toEqual(gone.map((change_id) => ({ change_id, fields: ["record"] })));
});

/** Appends an entry as the service would, whatever it says. */
async function append(api: Core, change_id: string, event_type: EventType, detail: object) {
  const { store, sha256, clock } = api.deps;
  await store.transact(async (tx) => {
    const { entry, head } = nextEntry((await readHead(tx))!, { event_type, change_id, detail }, clock.iso(), sha256);
    tx.put("audit", entryKey(entry.id), entry);
    tx.put("meta", "chain", head);
    const record = fromStoredChange((await tx.get("changes", change_id))!);
    tx.put("changes", change_id, {
      ...record,
      audit: [...record.audit, entry.id],
      change: { ...record.change, revision: record.change.revision + 1 },
    });
  });
}

test.each<[string, EventType, object]>([
  ["applied without consent", "change_applied", { status: "applied" }],
  [
    "decided for another content",
    "consent_decision",
    { decision: "approved", approver: "ana", note: "", digest: "0".repeat(64) },
  ],
  ["decided without saying how", "consent_decision", {}],
  ["proposed twice", "change_proposed", { status: "pending_consent" }],
])("a log in which a change is %s is not believed", async (_, event, detail) => {
  const api = await core();
  const { change_id } = await api.propose();
  await append(api, change_id, event, detail);
  expect((await reconcile(api.deps)).mismatches).toEqual([{ change_id, fields: expect.arrayContaining(["log"]) }]);
});

/** The one status of a change in which the log may tell of each event. */
const REPORTED_EVENTS: [EventType, Reachable, detail?: object][] = [
  ["consent_decision", "pending_consent", { decision: "approved", approver: "bo", note: "" }],
  ["change_applied", "approved"],
  ["change_rolled_back", "applied"],
  ["change_apply_failed", "approved"],
  ["change_rollback_failed", "applied"],
  ["change_drifted", "applied"],
];
const STATUSES: Reachable[] = ["pending_consent", "approved", "applied", "rolled_back", "denied"];

test.each(REPORTED_EVENTS)(
  "a log that tells of %s is believed of a change that is %s, and of no other",
  async (event, only, detail = {}) => {
    for (const status of STATUSES) {
      const api = await core();
      const change_id = await api.bring(status);
      await append(api, change_id, event, detail);
      const fields = (await reconcile(api.deps)).mismatches.flatMap((mismatch) => mismatch.fields);
      expect(!fields.includes("log"), status).toBe(status === only);
    }
  },
);

test("changes that move meanwhile are no mismatch", async () => {
  const api = await core();
  const ids = [await api.bring("approved"), await api.bring("approved"), await api.bring("approved")];
  const { store } = api.deps;
  let once = 0;
  const moving: Store = {
    ...store,
    // Between reading the log and reading the records, one change moves and one is made.
    list: (async (collection, options) => {
      if (collection === "changes" && once++ === 0) {
        await api.must("apply", ids[1]!);
        await api.propose();
      }
      return store.list(collection, options);
    }) as Store["list"],
    // And the next moves right after its record was read.
    get: (async (collection, id) => {
      const stored = await store.get(collection, id);
      if (collection === "changes" && once++ === 1) await api.must("apply", ids[2]!);
      return stored;
    }) as Store["get"],
  };
  expect(await reconcile({ ...api.deps, store: moving, integrity: {} })).toEqual({ ...SOUND, compared: 4 });
});

test("a pass is shared, and its answer kept for a while", async () => {
  const api = await core();
  const change_id = await api.bring("applied");
  const [one, two] = await Promise.all([reconcile(api.deps), reconcile(api.deps)]);
  expect(one).toBe(two);
  await edit(api, change_id, withChange({ status: "approved" }));
  expect((await reconcile(api.deps)).mismatched).toBe(0);
  api.deps.clock.advance(DAY);
  expect((await reconcile(api.deps)).mismatched).toBe(1);
});

test("a pass that fails is not kept", async () => {
  const api = await core();
  await api.propose();
  await api.deps.store.transact((tx) => tx.delete("audit", entryKey(1)));
  await expect(reconcile(api.deps)).rejects.toThrow("audit entry 1");
  await expect(reconcile(api.deps)).rejects.toThrow("audit entry 1");
});

/** A step of a random life; most are refused, as they should be. */
async function live(api: Core, adapter: ScriptedAdapter, random: (below: number) => number): Promise<unknown> {
  const ids = (await api.deps.store.list("changes", { limit: 100, keysOnly: true })).map(({ id }) => id);
  const change_id = ids[random(ids.length)] ?? "";
  const name = ["ana", "bo", "pat"][random(3)]!;
  const note = ["", "fine", "é 🙂"][random(3)]!;
  switch (random(11)) {
    case 0:
      if (random(6) > 0) return pass(api.deps, random(3) * 20 * HOUR);
      api.deps.clock.set(-2 * DAY);
      return api.post("audit/accept-clock", { actor: name, note });
    case 1:
      if (random(4) === 0) {
        const until = new Date(api.deps.clock.now() + HOUR).toISOString();
        return random(2) === 0
          ? api.post("freeze", { actor: name, note, until })
          : api.post("unfreeze", { actor: name });
      }
      return api.post("kpi", { csat: random(6), ...(random(2) === 0 ? { incident_rate: random(9) / 100 } : {}) });
    case 2:
      return api.cycle();
    case 3:
      adapter.on((["validate", "apply", "verify", "rollback"] as const)[random(4)]!, fails("the host is away"), 1);
      return;
    case 4:
      return adapter.host.set(change_id, (["absent", "applied", "unknown"] as const)[random(3)]!);
    case 5:
      if (random(4) === 0) return api.post("review", { change_id, approver: name, verdict: "accepted" });
      return api.post("approve", { change_id, approver: name, note, ...(random(4) === 0 ? { emergency: true } : {}) });
    case 6:
      return api.post(["deny", "withdraw"][random(2)]!, {
        change_id,
        [random(2) ? "approver" : "proposer"]: name,
        note,
      });
    case 7:
      if (random(4) === 0) return api.post("note", { change_id, actor: name, item: "rationale", note: "said late" });
      return api.post("apply", { change_id, ...(random(2) === 0 ? { actor: name, note } : {}) });
    case 8:
      return name === "pat" && note === ""
        ? api.post("erase", { change_id, actor: name, note })
        : api.act("rollback", change_id);
    default:
      return api.post("propose", {
        ...PROPOSAL,
        target: ["ui.a", "ui.b", "billing.x"][random(3)]!,
        proposer: name,
        reversible: random(3) > 0,
        affected_users: 1,
        risk: "low",
        tier: ["minor", "standard", "major"][random(3)]!,
        ...(random(2) === 0 ? { kpi: "csat" } : {}),
        ...(change_id && random(4) === 0 ? { supersedes: change_id } : {}),
      });
  }
}

/** Events of acts, automatic applies and rollouts that no random life has. */
const NOT_LIVED = [
  ...["record_rebuilt", "store_moved", "loss_accepted", "targets_in_force", "value_restored"],
  ...["automation_stopped", "stage_advanced", "stage_held", "stage_resumed", "stage_stopped"],
  "release_checked",
  ...MANDATE_EVENTS,
];

inLong(test)("in random lives every stored record is the fold of its entries", async () => {
  const policy = {
    minor: { kinds: ["config"], targets: ["ui.a"], max_per_day: 3 },
    required_approvers: { standard: 1, major: 2 },
    consent_ttl_hours: 72,
    forbidden_targets: ["billing.*"],
    break_glass: { approvers: ["ana", "bo"] },
    guardrails: [{ kpi: "csat", max_regression: 1, action: "rollback" }],
  };
  const seen = new Set<string>();
  const lived = EVENT_TYPES.filter((type) => !NOT_LIVED.includes(type)).sort();
  for (let seed = 1; seed <= 5 || (seed <= 50 && seen.size < lived.length); seed++) {
    const adapter = scriptedAdapter();
    const api = await core({ adapter, intent: { policy } });
    const random = numbers(seed);
    for (let step = 0; step < 250; step++) await live(api, adapter, random);
    const { store, sha256 } = api.deps;
    const records = await store.list("changes", { limit: 1000 });
    expect(await reconcile(api.deps), `seed ${seed}`).toEqual({ ...SOUND, compared: records.length });
    for (const value of records.map(fromStoredChange)) {
      const state = foldEntries(
        (await store.getMany("audit", value.audit.map(entryKey))).map((entry) => entry?.value),
      )!;
      expect(value).toEqual({ ...state, change: toChange(state, value.change) });
      const { change } = value;
      expect((change.erased ?? change).digest).toBe(contentDigest(change, sha256));
    }
    const entries = await api.audit("?limit=1000");
    expect(chainFault(entries)).toBeNull();
    for (const { event_type } of entries) seen.add(event_type);
  }
  expect([...seen].sort()).toEqual(lived);
});
