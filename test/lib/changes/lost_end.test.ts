/** A log that lost its end behind the processes that write it: noticed by the next write, and the way to go on. */
import { describe, expect, test } from "vitest";
import { maintainCheckpoint } from "../../../lib/audit/anchor.ts";
import { readHead } from "../../../lib/audit/chain.ts";
import { reportBreach } from "../../../lib/audit/report_breach.ts";
import { makeAnchor } from "../../support/anchor.ts";
import { PROPOSAL } from "../../support/client.ts";
import { type Core, core, makeCore } from "../../support/core.ts";
import { restarted } from "../../support/deps.ts";
import { chainFault } from "../../support/independent_chain.ts";
import { passkey } from "../../support/passkeys.ts";
import { rewindingStore, type RewindingStore } from "../../support/rewinding_store.ts";
import { act, person } from "../../support/signed.ts";

const BROKEN = { status: 503, body: { code: "chain_broken" } };

interface Shared {
  api: Core;
  other: Core;
  store: RewindingStore;
}

/** Two processes on one store. */
async function shared(options = {}): Promise<Shared> {
  const store = rewindingStore();
  const api = await core({ store: store.store, ...options });
  await api.propose();
  return { api, other: makeCore(await restarted(api.deps, options)), store };
}

const propose = (api: Core) => api.post("propose", PROPOSAL);
const endOf = async (api: Core) => {
  const { length, head } = (await readHead(api.deps.store))!;
  return { length, head };
};
const acceptLoss = async (api: Core, fields: object = {}) =>
  api.post("audit/accept-loss", { actor: "ops", note: "failover", ...(await endOf(api)), ...fields });

/** Receipts of proposals, acknowledged by a process and then lost. */
async function lose({ api, store }: Pick<Shared, "api" | "store">, count = 3) {
  const before = await store.copy();
  const receipts = [];
  for (let i = 0; i < count; i++) receipts.push((await propose(api)).body.audit_entry);
  await store.goBack(before);
  return receipts as { id: number; current_hash: string }[];
}

describe("the next write notices that the log went back", () => {
  test("a proposal, which reads nothing of the log, is rejected with both ends", async () => {
    const { api, store } = await shared();
    const receipts = await lose({ api, store });
    const now = await endOf(api);
    const last = receipts.at(-1)!;
    const reply = await propose(api);
    expect(reply).toMatchObject(BROKEN);
    expect(reply.body.reason).toContain(
      `the log went back from length ${last.id}, head ${last.current_hash}, to length ${now.length}, head ${now.head}`,
    );
    expect(await endOf(api)).toEqual(now);
  });

  test("also where another process wrote on meanwhile, past the length that was known", async () => {
    const { api, other, store } = await shared();
    const known = (await lose({ api, store })).at(-1)!;
    // It was started after the failover: it knows no earlier end.
    const started = makeCore(await restarted(other.deps));
    for (let i = 0; i < 5; i++) expect((await propose(started)).status).toBe(201);
    const reply = await propose(api);
    expect(reply).toMatchObject(BROKEN);
    expect(reply.body.reason).toContain(`the log went back from length ${known.id}, head ${known.current_hash}`);
  });

  test("every process is stopped by the one that noticed, and the longest known end is stored", async () => {
    const { api, other, store } = await shared();
    const before = await store.copy();
    await propose(api);
    const short = (await propose(other)).body.audit_entry;
    const long = (await propose(api)).body.audit_entry;
    await store.goBack(before);
    expect(await propose(other)).toMatchObject(BROKEN);
    expect((await store.store.get("meta", "breach"))!.value.known).toMatchObject({ length: short.id });
    expect(await propose(api)).toMatchObject(BROKEN);
    expect((await store.store.get("meta", "breach"))!.value.known).toEqual({
      length: long.id,
      head: long.current_hash,
    });
    expect(await propose(makeCore(await restarted(api.deps)))).toMatchObject(BROKEN);
  });

  test("a process alone on its store writes on, and so do two that write in turn", async () => {
    const { api, other } = await shared();
    for (const each of [api, other, other, api, api, other]) expect((await propose(each)).status).toBe(201);
    expect(chainFault(await api.audit())).toBeNull();
  });
});

describe("a person accepts the loss", () => {
  test("who may accept a clock may accept a loss, and nobody else", async () => {
    const { api, store } = await shared({ intent: { policy: { permissions: { accept_clock: ["sec"] } } } });
    await lose({ api, store });
    await propose(api);
    expect(await acceptLoss(api)).toMatchObject({ status: 403, body: { code: "not_permitted" } });
    expect((await acceptLoss(api, { actor: "sec" })).status).toBe(200);
  });

  test("a process that looks at the log at that moment reports no breach", async () => {
    const { api, other, store } = await shared();
    const before = await store.copy();
    for (const each of [other, api]) await propose(each);
    await store.goBack(before);
    expect(await propose(api)).toMatchObject(BROKEN);
    const { knownEnd: known } = other.deps.integrity;
    expect((await acceptLoss(api)).status).toBe(200);
    // The other process has found the log rewritten by what it knew before.
    await reportBreach(other.deps, { first_invalid: known!.length, reason: "the log was rewritten" });
    expect(await store.store.get("meta", "breach")).toBeUndefined();
    for (const each of [other, api]) expect((await propose(each)).status).toBe(201);
  });

  test("a log that went back to an earlier accepted loss is broken", async () => {
    const { api, store } = await shared();
    const before = await store.copy();
    await propose(api);
    await store.goBack(before);
    await propose(api);
    await acceptLoss(api);
    const afterFirst = await store.copy();
    api.deps.clock.advance(1000);
    await propose(api);
    await store.goBack(afterFirst);
    await propose(api);
    await acceptLoss(api);
    await store.goBack(afterFirst);
    expect(await propose(api)).toMatchObject(BROKEN);
  });

  test("the log states what is lost, writes go on, and no id is given twice in between", async () => {
    const { api, other, store } = await shared();
    const receipts = await lose({ api, store });
    expect(await propose(api)).toMatchObject(BROKEN);
    const now = await endOf(api);
    const reply = await acceptLoss(api);
    expect(reply.status).toBe(200);
    const [, accepted, frozen] = (await api.audit()).slice(-3);
    const known = { length: receipts.at(-1)!.id, head: receipts.at(-1)!.current_hash };
    expect(reply.body).toMatchObject({ known, ...now, frozen: true, audit_entry: { id: now.length + 1 } });
    expect(accepted.event_type).toBe("loss_accepted");
    expect(JSON.parse(accepted.detail)).toMatchObject({ actor: "ops", note: "failover", ...now, known });
    expect(frozen).toMatchObject({ event_type: "service_frozen" });
    expect(await store.store.get("meta", "breach")).toBeUndefined();
    for (const each of [api, other, makeCore(await restarted(api.deps)), api])
      expect((await propose(each)).status).toBe(201);
    expect(chainFault(await api.audit())).toBeNull();
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
  });

  test("verify explains the receipt of a lost entry by the accepted loss", async () => {
    const { api, store } = await shared();
    const { id, current_hash } = (await lose({ api, store })).at(-1)!;
    await propose(api);
    await acceptLoss(api);
    for (let i = 0; i < 4; i++) await propose(api);
    const { body } = await api.get(`audit/verify?expected_length=${id}&expected_head=${current_hash}`);
    expect(body.valid).toBe(false);
    expect(body.reason).toContain("ops accepted");
    expect(body.losses).toMatchObject([{ entry: 3, known: { length: id, head: current_hash }, actor: "ops" }]);
  });

  test("a process that did not notice, and one that was stopped, go on by themselves", async () => {
    const { api, other, store } = await shared();
    const third = makeCore(await restarted(api.deps));
    const before = await store.copy();
    for (const each of [api, other, third]) await propose(each);
    await store.goBack(before);
    expect(await propose(api)).toMatchObject(BROKEN);
    expect(await propose(other)).toMatchObject(BROKEN);
    expect((await acceptLoss(api)).status).toBe(200);
    for (const each of [other, third]) expect((await propose(each)).status).toBe(201);
    // A second loss is one of its own.
    await store.goBack(before);
    expect(await propose(third)).toMatchObject(BROKEN);
    expect((await acceptLoss(other)).status).toBe(200);
    for (const each of [api, other, third]) expect((await propose(each)).status).toBe(201);
    expect(chainFault(await api.audit())).toBeNull();
  });

  test("consents given before it no longer count, and can be given again", async () => {
    const { api, store } = await shared({ intent: { policy: { required_approvers: { standard: 2 } } } });
    const pending = (await api.propose()).change_id;
    await api.post("approve", { change_id: pending, approver: "ana" });
    const approved = (await api.propose({ target: "ui.menu" })).change_id;
    for (const approver of ["ana", "bo"]) await api.post("approve", { change_id: approved, approver });
    const applied = (await api.propose({ target: "ui.other" })).change_id;
    for (const approver of ["ana", "bo"]) await api.post("approve", { change_id: applied, approver });
    await api.must("apply", applied);
    await lose({ api, store });
    await propose(api);
    await acceptLoss(api);
    expect(await api.act("apply", approved)).toMatchObject({ status: 403, body: { code: "consent_incomplete" } });
    await api.post("unfreeze", { actor: "ops" });
    expect(await api.act("apply", approved)).toMatchObject({ status: 403, body: { code: "consent_incomplete" } });
    expect((await api.change(approved)).missing).toMatchObject([{ count: 2 }]);
    for (const change_id of [pending, approved])
      for (const approver of ["ana", "bo"])
        expect(await api.post("approve", { change_id, approver })).toMatchObject({ status: 200 });
    expect((await api.act("apply", approved)).status).toBe(200);
    expect((await api.act("apply", pending)).status).toBe(200);
    expect((await api.act("rollback", applied)).status).toBe(200);
  });

  test("an anchor over the lost entries shows the loss, and is no breach once it is accepted", async () => {
    const anchor = makeAnchor();
    const { api, store } = await shared({ anchor });
    const before = await store.copy();
    await propose(api);
    const { length } = await endOf(api);
    await maintainCheckpoint(api.deps);
    expect(anchor.notes.length).toBeGreaterThan(0);
    await store.goBack(before);
    // It knows no earlier end of its own.
    const started = makeCore(await restarted(api.deps, { anchor }));
    expect(await propose(started)).toMatchObject(BROKEN);
    expect((await acceptLoss(started)).body).toMatchObject({ known: { length } });
    expect((await propose(started)).status).toBe(201);
    const again = makeCore(await restarted(api.deps, { anchor }));
    expect(again.deps.integrity.breach).toBeUndefined();
    expect((await propose(again)).status).toBe(201);
  });

  test("the service is frozen until a person unfreezes it", async () => {
    const { api, store } = await shared();
    await lose({ api, store });
    await propose(api);
    await acceptLoss(api);
    const change_id = (await api.propose()).change_id;
    await api.must("approve", change_id);
    expect(await api.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "frozen" } });
    await api.post("unfreeze", { actor: "ops" });
    expect((await api.act("apply", change_id)).status).toBe(200);
  });

  test("another end than that of the log now, and a log that lost nothing, are rejected", async () => {
    const { api, store } = await shared();
    expect(await acceptLoss(api)).toMatchObject({ status: 400, body: { code: "illegal_transition" } });
    await lose({ api, store });
    await propose(api);
    for (const [field, value] of [
      ["length", 7],
      ["head", "a".repeat(64)],
    ] as const)
      expect(await acceptLoss(api, { [field]: value })).toMatchObject({
        status: 400,
        body: { code: "invalid_field", fields: [{ field }] },
      });
    expect(await propose(api)).toMatchObject(BROKEN);
  });

  test("a log that does not hold in what is left cannot be gone on from", async () => {
    const { api, store } = await shared();
    await propose(api);
    await lose({ api, store });
    await propose(api);
    await store.store.transact(async (tx) => {
      const [first] = await tx.list("audit", { limit: 1 });
      tx.put("audit", first!.id, { ...first!.value, tenant: "t9" });
    });
    expect(await acceptLoss(api)).toMatchObject({ status: 503, body: { code: "chain_broken", first_invalid: 1 } });
  });

  test("where signatures count it is signed, with the end that the person saw", async () => {
    const pen = passkey();
    const { api, store } = await shared({ intent: { principals: { "ana@acme.example": person(pen) } } });
    await lose({ api, store });
    await propose(api);
    const end = await endOf(api);
    const said = { actor: "ana@acme.example", note: "failover" };
    expect(await acceptLoss(api, said)).toMatchObject({ status: 403, body: { code: "proof_required" } });
    const signed = await act(api, pen, "accept_loss", { ...said, ...end, length: String(end.length) });
    expect(signed).toMatchObject({ status: 200 });
    const entry = (await api.audit()).find(({ event_type }) => event_type === "loss_accepted")!;
    expect(JSON.parse(JSON.parse(entry.detail).statement)).toMatchObject({ decision: "accept_loss", ...end });
  });
});
