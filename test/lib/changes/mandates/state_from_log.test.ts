/** The log, the newest KPI values and the current intent decide the state of a mandate, and stored records do not. */
import { expect, test } from "vitest";
import { entryKey, readHead } from "../../../../lib/audit/chain.ts";
import { checkDrift, checkDueDrift } from "../../../../lib/changes/check_drift.ts";
import type { Evidence } from "../../../../lib/changes/evidence.ts";
import { maintainMandates } from "../../../../lib/changes/mandates/narrow_revoke.ts";
import { isMandateActive, listSigners } from "../../../../lib/changes/mandates/judge_mandate.ts";
import { restoreEdited } from "../../../../lib/changes/restore_edited.ts";
import type { Reads } from "../../../../lib/store/store.ts";
import { app } from "../../../../handlers/index.ts";
import { DAY, HOUR, MINUTE } from "../../../support/clock.ts";
import {
  AS_OTHER,
  PROPOSAL_WITHIN_BOUNDS,
  MANDATE_INTENT,
  openWithMandates,
  SIGNERS,
  PRINCIPALS,
} from "../../../support/mandates.ts";
import { get } from "../../../support/requests.ts";
import { rewindingStore } from "../../../support/rewinding_store.ts";

const { mandates: _, ...withoutMandates } = MANDATE_INTENT.policy;

test("a KPI below its floor suspends a mandate also while the intent allows no mandates", async () => {
  const before = await openWithMandates();
  const id = await before.activate({ kpi_floor: { csat: 4 } });
  const withoutRule = await before.restart({ intent: { ...MANDATE_INTENT, policy: withoutMandates } });
  expect((await withoutRule.send("kpi", { csat: 1 })).status).toBe(200);
  const withRule = await withoutRule.restart({ intent: MANDATE_INTENT });
  expect(await withRule.mandate(id)).toMatchObject({ state: "suspended" });
  expect((await withRule.propose()).body).toMatchObject({ status: "pending_consent" });
});

test("a mandate whose suspension is missing from the log approves nothing below its floor", async () => {
  const api = await openWithMandates();
  const id = await api.activate({ kpi_floor: { csat: 4 } });
  const { store } = api.api.deps;
  // Without these records the feed finds no mandate, and logs no suspension.
  const [row] = await store.list("mandates_by_agent", { limit: 2 });
  const record = (await store.get("mandates", id))!.value;
  await store.transact(async (tx) => {
    tx.delete("mandates_by_agent", row!.id);
    tx.delete("mandates", id);
  });
  await api.send("kpi", { csat: 1 });
  await store.transact(async (tx) => {
    tx.put("mandates_by_agent", row!.id, true);
    tx.put("mandates", id, record);
  });
  const { body } = await api.propose();
  expect(body).toMatchObject({ status: "pending_consent", outside: [{ message: "csat is 1, worse than its floor." }] });
});

test("narrowing to a floor that a KPI is already below suspends the mandate", async () => {
  const api = await openWithMandates();
  const id = await api.activate();
  await api.send("kpi", { csat: 1 });
  await expect(api.decideOn("mandate_narrow", id, "ana", { narrow: { kpi_floor: { nps: 3 } } })).resolves.toMatchObject(
    { status: 400, body: { code: "invalid_field" } },
  );
  const { body } = await api.decideOn("mandate_narrow", id, "ana", { narrow: { kpi_floor: { csat: 4 } } });
  expect(body).toMatchObject({ state: "suspended" });
  expect((await api.propose()).body).toMatchObject({ status: "pending_consent" });
});

test("a mandate with a floor for a KPI that the intent no longer has is inactive", async () => {
  const intent = { ...MANDATE_INTENT, kpis: { errors: { baseline: 10, target: 5 } } };
  const before = await openWithMandates({ intent });
  await before.activate({ kpi_floor: { errors: 12 } });
  const after = await before.restart({ intent: MANDATE_INTENT });
  const message = "Its floor is about errors, which is no KPI of the intent.";
  expect((await after.propose()).body).toMatchObject({ status: "pending_consent", outside: [{ message }] });
});

test("a draft that was edited to last longer than the policy allows cannot be signed", async () => {
  const policy = { ...MANDATE_INTENT.policy, mandates: { targets: ["price.*"], max_days: 5 } };
  const api = await openWithMandates({ intent: { ...MANDATE_INTENT, policy } });
  const { store, clock } = api.api.deps;
  const { mandate_id } = (await api.draft({ until: api.until(4) })).body;
  const draft = (await store.get("mandates", mandate_id))!.value;
  const later = (days: number) => new Date(clock.now() + days * DAY).toISOString();
  const edit = (created_at: string) =>
    store.transact(async (tx) => {
      tx.put("mandates", mandate_id, { ...draft, created_at, bounds: { ...draft.bounds, until: later(300) } });
    });
  // A draft from the future, then one that lasts 300 days.
  await edit(later(299));
  expect((await api.decideOn("mandate", mandate_id, "ana")).body).toMatchObject({ code: "illegal_transition" });
  await edit(draft.created_at);
  expect((await api.decideOn("mandate", mandate_id, "ana")).body).toMatchObject({ code: "mandate_not_allowed" });
});

test("after the clock is set back, the limit of a day counts that day's changes again", async () => {
  const api = await openWithMandates();
  await api.activate({ max_per_day: 2, max_open: 20 });
  const statuses = async (values: readonly number[]): Promise<string[]> => {
    const all: string[] = [];
    for (const value of values) all.push((await api.propose({ value })).body.status);
    return all;
  };
  expect(await statuses([101, 102, 103])).toEqual(["approved", "approved", "pending_consent"]);
  const { clock } = api.api.deps;
  clock.advance(30 * HOUR);
  expect(await statuses([101.5])).toEqual(["approved"]);
  clock.shift(-30 * HOUR);
  const note = "it ran ahead";
  const text = await api.statement("accept_clock", "ana", { note });
  const { at } = JSON.parse(text) as { at: string };
  const accepted = await api.send("audit/accept-clock", { actor: "ana", note, proof: SIGNERS["ana"]!.sign(text), at });
  expect(accepted.status).toBe(200);
  expect(await statuses([100.1])).toEqual(["pending_consent"]);
});

test("an agent that may read only its own changes sees no entries of other agents' mandates", async () => {
  const other = { ...PRINCIPALS["agent:other" as keyof typeof PRINCIPALS], may: { read: "own" } };
  const api = await openWithMandates({
    intent: { ...MANDATE_INTENT, principals: { ...PRINCIPALS, "agent:other": other } },
  });
  const id = await api.activate();
  await api.send("propose", PROPOSAL_WITHIN_BOUNDS, AS_OTHER);
  const read = async (path: string) => (await app(api.api.deps)(get(path, AS_OTHER))).text();
  for (const query of ["?limit=100", "?event_type=mandate_signed", "?after=0"])
    expect(await read(`/api/product/audit${query}`), query).not.toContain(id);
});

test("after an accepted loss a draft and a resumption need all signatures again", async () => {
  const rewinding = rewindingStore();
  const api = await openWithMandates({ store: rewinding.store });
  const draft = (await api.draft()).body.mandate_id;
  await api.decideOn("mandate", draft, "ana");
  const suspended = await api.activate();
  const { change_id } = (await api.propose()).body;
  await api.apply(change_id);
  // A rollback suspends the mandate; the resumption needs two signatures.
  await api.send("rollback", { change_id, actor: "ana" });
  await api.decideOn("mandate_resume", suspended, "ana");
  const backup = await rewinding.copy();
  await api.send("kpi", { csat: 4.2 });
  await rewinding.goBack(backup);
  // This write finds that the entry is lost.
  await api.send("kpi", { csat: 4.2 });
  const { length, head } = (await readHead(api.api.deps.store))!;
  const loss = { note: "restored", length, head };
  const text = await api.statement("accept_loss", "ana", loss);
  const { at } = JSON.parse(text) as { at: string };
  const proof = SIGNERS["ana"]!.sign(text);
  expect(await api.send("audit/accept-loss", { actor: "ana", ...loss, proof, at })).toMatchObject({ status: 200 });
  expect((await api.decideOn("mandate", draft, "bo")).body).toMatchObject({ state: "draft" });
  expect((await api.decideOn("mandate_resume", suspended, "bo")).body).toMatchObject({ state: "suspended" });
  api.api.deps.clock.advance(MINUTE);
  expect((await api.decideOn("mandate", draft, "ana")).body).toMatchObject({ state: "active" });
  expect((await api.decideOn("mandate_resume", suspended, "ana")).body).toMatchObject({ state: "active" });
});

test("after an accepted loss earlier signatures are valid only for actions that stop something", async () => {
  const rewinding = rewindingStore();
  const api = await openWithMandates({ store: rewinding.store });
  const { deps } = api.api;
  const id = await api.activate();
  const { change_id } = (await api.propose()).body;
  await api.apply(change_id);
  await api.send("rollback", { change_id, actor: "ana" });
  const open = (await api.propose({ value: 200 })).body.change_id;
  const draft = (await api.draft()).body.mandate_id;
  const sign = async (path: string, decision: string, fields: object) => {
    const text = await api.statement(decision, "ana", fields);
    const { at } = JSON.parse(text) as { at: string };
    const callerField = { [/^(approve|mandate)/.test(decision) ? "approver" : "actor"]: "ana" };
    return [path, { ...fields, ...callerField, proof: SIGNERS["ana"]!.sign(text), at }] as const;
  };
  const signed = [
    await sign("approve", "approve", { change_id: open }),
    await sign("mandate-sign", "mandate", { mandate_id: draft }),
    await sign("mandate-resume", "mandate_resume", { mandate_id: id }),
    await sign("unfreeze", "unfreeze", { note: "restored" }),
  ];
  const applied = await sign("apply", "apply", { change_id: open });
  const frozen = await sign("freeze", "freeze", { note: "look first" });
  const backup = await rewinding.copy();
  for (const [path, body] of [...signed.slice(0, 3), applied])
    expect(await api.send(path, body)).toMatchObject({ status: 200 });
  await rewinding.goBack(backup);
  deps.clock.advance(MINUTE);
  // This write finds that the entries are lost.
  await api.send("kpi", { csat: 4.2 });
  const { length, head } = (await readHead(deps.store))!;
  const loss = { note: "restored", length, head };
  expect(await api.send(...(await sign("audit/accept-loss", "accept_loss", loss)))).toMatchObject({ status: 200 });
  for (const [path, body] of signed)
    expect(await api.send(path, body), path).toMatchObject({ status: 403, body: { code: "proof_invalid" } });
  for (const request of [
    await sign("mandate-resume", "mandate_resume", { mandate_id: id }),
    await sign("unfreeze", "unfreeze", { note: "compared" }),
    await sign("approve", "approve", { change_id: open }),
  ])
    expect(await api.send(...request), request[0]).toMatchObject({ status: 200 });
  expect(await api.send(...applied)).toMatchObject({ status: 403, body: { code: "proof_invalid" } });
  expect(await api.send(...frozen)).toMatchObject({ status: 200 });
});

test("a mandate of an agent that the intent no longer names approves and applies nothing", async () => {
  const before = await openWithMandates();
  const id = await before.activate();
  const { change_id } = (await before.propose()).body;
  const { "agent:pricing": _pricing, ...others } = PRINCIPALS as Record<string, unknown>;
  const after = await before.restart({ intent: { ...MANDATE_INTENT, principals: others } });
  expect(await after.apply(change_id)).toMatchObject({ status: 403, body: { code: "consent_incomplete" } });
  expect(await after.mandate(id)).toMatchObject({ inactive: "agent:pricing is no agent of the intent." });
});

test("each entry of a plan counts towards the daily limit", async () => {
  const api = await openWithMandates({}, { "price.basic": 100, "price.pro": 100 });
  const id = await api.activate({ max_per_day: 3 });
  const entry = (target: string) => ({ tenant_id: "t1", target, value: 101 });
  const plan = { target: "price.plan", value: undefined, sets: [entry("price.basic"), entry("price.pro")] };
  const first = (await api.propose(plan)).body;
  expect(first).toMatchObject({ status: "approved" });
  expect(await api.mandate(id)).toMatchObject({ used: { today: 2, open: 1 }, left: { today: 1 } });
  expect((await api.apply(first.change_id)).status).toBe(200);
  expect((await api.propose(plan)).body).toMatchObject({
    status: "pending_consent",
    outside: [{ bound: "max_per_day" }],
  });
  expect((await api.propose({ value: 102 })).body).toMatchObject({ status: "approved" });
});

test.each(["rejected", "lost answer"] as const)(
  "a rollback suspends the mandate although the target system fails: %s",
  async (fault) => {
    const api = await openWithMandates();
    const id = await api.activate();
    const { change_id } = (await api.propose()).body;
    await api.apply(change_id);
    api.target.faults.push(fault);
    expect((await api.send("rollback", { change_id, actor: "ana" })).status).toBe(502);
    expect(await api.mandate(id)).toMatchObject({ state: "suspended", suspension: { reason: "rollback", change_id } });
  },
);

/** Edits a target until its value is contested: after each edit a cycle restores the value. */
async function contestValue({ api, target }: Awaited<ReturnType<typeof openWithMandates>>, name: string) {
  const { deps } = api;
  const operand = { tenant_id: "t1", target: name, kind: "config", value: null };
  for (let edit = 0; edit < 6; edit++) {
    target.overwrite(operand as never, String(700 + edit));
    await checkDrift(deps);
    deps.clock.advance(4 * MINUTE);
    await restoreEdited(deps);
    await checkDueDrift(deps);
    await maintainMandates(deps);
  }
}

test("a contested value of a plan suspends the mandate that approved it", async () => {
  const policy = { ...MANDATE_INTENT.policy, on_drift: "restore" };
  const initialValues = { "price.basic": 100, "price.pro": 100 };
  const api = await openWithMandates({ longLived: true, intent: { ...MANDATE_INTENT, policy } }, initialValues);
  const id = await api.activate();
  const sets = Object.keys(initialValues).map((target) => ({ tenant_id: "t1", target, value: 101 }));
  const plan = (await api.propose({ target: "price.plan", value: undefined, sets })).body;
  expect((await api.apply(plan.change_id)).status).toBe(200);
  await contestValue(api, "price.pro");
  expect(await api.mandate(id)).toMatchObject({
    state: "suspended",
    suspension: { reason: "contested", change_id: plan.change_id },
  });
});

test("a mandate that is resumed after a contested value stays active", async () => {
  const policy = { ...MANDATE_INTENT.policy, on_drift: "restore" };
  const api = await openWithMandates({ longLived: true, intent: { ...MANDATE_INTENT, policy } });
  const id = await api.activate();
  const { deps } = api.api;
  await api.apply((await api.propose()).body.change_id);
  await contestValue(api, "price.basic");
  expect(await api.mandate(id)).toMatchObject({ state: "suspended", suspension: { reason: "contested" } });
  deps.clock.advance(30 * HOUR);
  await api.decideOn("mandate_resume", id, "ana");
  await api.decideOn("mandate_resume", id, "bo");
  await maintainMandates(deps);
  expect(await api.mandate(id)).toMatchObject({ state: "active" });
});

test("a signature is valid only for the text that was signed", async () => {
  const { activate, api } = await openWithMandates();
  const { store, product, clock } = api.deps;
  const mandate = (await store.get("mandates", await activate()))!.value;
  const { origin } = (await readHead(store))!;
  /** Returns the names with a valid signature after `edit` has changed the details of the entries. */
  const listWith = (edit: (detail: Record<string, unknown>) => object): Promise<string[]> => {
    const getMany = async (_: string, ids: readonly string[]) =>
      (await store.getMany("audit", ids)).map((entry) => {
        const detail = JSON.parse(entry!.value.detail) as Record<string, unknown>;
        return { ...entry!, value: { ...entry!.value, detail: JSON.stringify({ ...detail, ...edit(detail) }) } };
      });
    const tx = { get: store.get, getMany } as Pick<Reads, "get" | "getMany">;
    const sources = { tx, origin, product: product!, at: clock.iso(), findLastLossId: async () => 0 };
    return listSigners(sources, mandate, "mandate");
  };
  const otherProof = { type: "ssh", signature: "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----" };
  expect(await listWith(() => ({}))).toEqual(["ana", "bo"]);
  // The second time, the cache of valid signatures is used.
  expect(await listWith(() => ({}))).toEqual(["ana", "bo"]);
  expect(await listWith(() => ({ bounds: { ...mandate.bounds, max_affected_users: 1_000_000 } }))).toEqual([]);
  expect(await listWith(() => ({ note: "another one" }))).toEqual([]);
  expect(await listWith(() => ({ proof: otherProof }))).toEqual([]);
});

test("a mandate is judged as of an entry by the losses before it, whatever was lost later", async () => {
  const { activate, api } = await openWithMandates();
  const { store, product, clock } = api.deps;
  const id = await activate();
  const { audit, counts_from } = (await store.get("mandates", id))!.value;
  const entries = (await store.getMany("audit", audit.map(entryKey))).map((entry) => entry!.value);
  const losses = [counts_from + 10, counts_from + 100];
  const evidence = {
    entriesAboutMandate: async () => entries,
    entry: async (entryId: number) => entries.find((entry) => entry.id === entryId),
    entriesOfType: async (_: string, from: number) =>
      losses.filter((loss) => loss >= from).map((loss) => ({ id: loss })),
  } as unknown as Evidence;
  const { origin } = (await readHead(store))!;
  const isActiveAt = (until: number): Promise<boolean> => {
    const sources = { tx: store, evidence, origin, product: product!, at: clock.iso(), until };
    return isMandateActive({ ...sources, findLastLossId: async () => losses.at(-1)! }, id);
  };
  expect(await isActiveAt(counts_from + 9)).toBe(true);
  expect(await isActiveAt(counts_from + 20)).toBe(false);
  expect(await isActiveAt(counts_from + 200)).toBe(false);
});
