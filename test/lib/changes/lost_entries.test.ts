/** A store that lost the newest entries, for example in a failover: the next write detects the loss, and accept-loss resolves it. */
import { describe, expect, test } from "vitest";
import { maintainCheckpoint } from "../../../lib/audit/anchor.ts";
import { readHead } from "../../../lib/audit/chain.ts";
import { reportBreach } from "../../../lib/audit/report_breach.ts";
import { makeAnchor } from "../../support/anchor.ts";
import type { Store } from "../../../lib/store/store.ts";
import { PROPOSAL } from "../../support/client.ts";
import { type Core, core, makeCore } from "../../support/core.ts";
import { restartDeps } from "../../support/deps.ts";
import { lengthen } from "../audit/synthetic_log.ts";
import { chainFault } from "../../support/independent_chain.ts";
import { passkey } from "../../support/passkeys.ts";
import { rewindingStore, type RewindingStore } from "../../support/rewinding_store.ts";
import { postSignedAction, person } from "../../support/signed.ts";

const CHAIN_BROKEN = { status: 503, body: { code: "chain_broken" } };

/** Two processes on one store that can be set back to an earlier state. */
interface SharedStore {
  api: Core;
  other: Core;
  store: RewindingStore;
}

/** Starts two processes on one store. */
async function startTwoProcesses(options = {}): Promise<SharedStore> {
  const store = rewindingStore();
  const api = await core({ store: store.store, ...options });
  await api.propose();
  return { api, other: makeCore(await restartDeps(api.deps, options)), store };
}

const propose = (api: Core) => api.post("propose", PROPOSAL);
const readLogEnd = async (api: Core) => {
  const { length, head } = (await readHead(api.deps.store))!;
  return { length, head };
};
const acceptLoss = async (api: Core, fields: object = {}) =>
  api.post("audit/accept-loss", { actor: "ops", note: "failover", ...(await readLogEnd(api)), ...fields });

/** Makes proposals and sets the store back to the state before; returns the receipts of the proposals. */
async function loseProposals({ api, store }: Pick<SharedStore, "api" | "store">, count = 3) {
  const backup = await store.copy();
  const receipts = [];
  for (let sent = 0; sent < count; sent++) receipts.push((await propose(api)).body.audit_entry);
  await store.goBack(backup);
  return receipts as { id: number; current_hash: string }[];
}

describe("the next write detects that entries were lost", () => {
  test("a proposal is rejected with the known end and the current end of the log", async () => {
    const { api, store } = await startTwoProcesses();
    const receipts = await loseProposals({ api, store });
    const now = await readLogEnd(api);
    const last = receipts.at(-1)!;
    const reply = await propose(api);
    expect(reply).toMatchObject(CHAIN_BROKEN);
    expect(reply.body.reason).toContain(
      `the log went back from length ${last.id}, head ${last.current_hash}, to length ${now.length}, head ${now.head}`,
    );
    expect(await readLogEnd(api)).toEqual(now);
  });

  test("a loss is detected although another process has written more entries since", async () => {
    const { api, other, store } = await startTwoProcesses();
    const known = (await loseProposals({ api, store })).at(-1)!;
    // A process started after the loss knows no earlier end.
    const newProcess = makeCore(await restartDeps(other.deps));
    for (let sent = 0; sent < 5; sent++) expect((await propose(newProcess)).status).toBe(201);
    const reply = await propose(api);
    expect(reply).toMatchObject(CHAIN_BROKEN);
    expect(reply.body.reason).toContain(`the log went back from length ${known.id}, head ${known.current_hash}`);
  });

  test("a detected loss stops every process, and the longest known end is stored", async () => {
    const { api, other, store } = await startTwoProcesses();
    const backup = await store.copy();
    await propose(api);
    const shorterEnd = (await propose(other)).body.audit_entry;
    const longerEnd = (await propose(api)).body.audit_entry;
    await store.goBack(backup);
    expect(await propose(other)).toMatchObject(CHAIN_BROKEN);
    expect((await store.store.get("meta", "breach"))!.value.known).toMatchObject({ length: shorterEnd.id });
    expect(await propose(api)).toMatchObject(CHAIN_BROKEN);
    expect((await store.store.get("meta", "breach"))!.value.known).toEqual({
      length: longerEnd.id,
      head: longerEnd.current_hash,
    });
    expect(await propose(makeCore(await restartDeps(api.deps)))).toMatchObject(CHAIN_BROKEN);
  });

  test("two processes that write in any order detect no loss", async () => {
    const { api, other } = await startTwoProcesses();
    for (const client of [api, other, other, api, api, other]) expect((await propose(client)).status).toBe(201);
    expect(chainFault(await api.audit())).toBeNull();
  });
});

describe("a loss that only the anchor shows", () => {
  /** Loses the third entry, which an anchored checkpoint covers; a new process detects it. `complete` is the store before the loss. */
  async function loseAnchoredEntry() {
    const anchor = makeAnchor();
    const { api, store } = await startTwoProcesses({ anchor });
    const backup = await store.copy();
    await propose(api);
    const complete = await store.copy();
    await maintainCheckpoint(api.deps);
    await store.goBack(backup);
    const newProcess = makeCore(await restartDeps(api.deps, { anchor }));
    expect(await propose(newProcess)).toMatchObject(CHAIN_BROKEN);
    return { api, anchor, complete, store: store.store };
  }

  /** Copies the last entry and the head from another store, as an operator who brings lost records back. */
  async function copyEnd(from: Store, to: Store) {
    const [last] = await from.list("audit", { limit: 1, reverse: true });
    const head = (await readHead(from))!;
    await to.transact((tx) => {
      tx.put("audit", last!.id, last!.value);
      tx.put("meta", "chain", head);
    });
  }

  test.each(["with", "without"])("ends with the entries back and a restart %s the anchor", async (way) => {
    const { api, anchor, complete, store } = await loseAnchoredEntry();
    await copyEnd(complete, store);
    const restarted = makeCore(await restartDeps(api.deps, way === "with" ? { anchor } : {}));
    expect((await propose(restarted)).status).toBe(201);
    expect(await store.get("meta", "breach")).toBeUndefined();
  });

  test("stays without the entries, or with others in their place, also without the anchor", async () => {
    const { api, store } = await loseAnchoredEntry();
    expect(await propose(makeCore(await restartDeps(api.deps)))).toMatchObject(CHAIN_BROKEN);
    for (const entries of [1, 5]) {
      await lengthen(api.deps, entries);
      expect(await propose(makeCore(await restartDeps(api.deps)))).toMatchObject(CHAIN_BROKEN);
    }
    // A checkpoint has the Merkle root of the log instead of the hash of its last entry.
    expect((await store.get("meta", "breach"))!.value.known).toMatchObject({ length: 3, head: "" });
  });
});

describe("an accepted loss", () => {
  test("needs the permission accept_clock", async () => {
    const { api, store } = await startTwoProcesses({ intent: { policy: { permissions: { accept_clock: ["sec"] } } } });
    await loseProposals({ api, store });
    await propose(api);
    expect(await acceptLoss(api)).toMatchObject({ status: 403, body: { code: "not_permitted" } });
    expect((await acceptLoss(api, { actor: "sec" })).status).toBe(200);
  });

  test("clears a breach that another process reports concurrently", async () => {
    const { api, other, store } = await startTwoProcesses();
    const backup = await store.copy();
    for (const client of [other, api]) await propose(client);
    await store.goBack(backup);
    expect(await propose(api)).toMatchObject(CHAIN_BROKEN);
    const { knownEnd: known } = other.deps.integrity;
    expect((await acceptLoss(api)).status).toBe(200);
    // The other process reports a breach, based on the end it knew before the loss.
    await reportBreach(other.deps, { first_invalid: known!.length, reason: "the log was rewritten" });
    expect(await store.store.get("meta", "breach")).toBeUndefined();
    for (const client of [other, api]) expect((await propose(client)).status).toBe(201);
  });

  test("does not cover a second loss of the entries after it", async () => {
    const { api, store } = await startTwoProcesses();
    const backup = await store.copy();
    await propose(api);
    await store.goBack(backup);
    await propose(api);
    await acceptLoss(api);
    const afterFirstLoss = await store.copy();
    // An accepted loss could explain a shorter log unless it is older than the end that the process knows.
    api.deps.clock.advance(1000);
    await propose(api);
    await store.goBack(afterFirstLoss);
    await propose(api);
    await acceptLoss(api);
    await store.goBack(afterFirstLoss);
    expect(await propose(api)).toMatchObject(CHAIN_BROKEN);
  });

  test("is logged with both ends, and all processes can write again", async () => {
    const { api, other, store } = await startTwoProcesses();
    const receipts = await loseProposals({ api, store });
    expect(await propose(api)).toMatchObject(CHAIN_BROKEN);
    const now = await readLogEnd(api);
    const reply = await acceptLoss(api);
    expect(reply.status).toBe(200);
    const [, accepted, frozen] = (await api.audit()).slice(-3);
    const known = { length: receipts.at(-1)!.id, head: receipts.at(-1)!.current_hash };
    expect(reply.body).toMatchObject({ known, ...now, frozen: true, audit_entry: { id: now.length + 1 } });
    expect(accepted.event_type).toBe("loss_accepted");
    expect(JSON.parse(accepted.detail)).toMatchObject({ actor: "ops", note: "failover", ...now, known });
    expect(frozen).toMatchObject({ event_type: "service_frozen" });
    expect(await store.store.get("meta", "breach")).toBeUndefined();
    for (const client of [api, other, makeCore(await restartDeps(api.deps)), api])
      expect((await propose(client)).status).toBe(201);
    expect(chainFault(await api.audit())).toBeNull();
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
  });

  test("explains an invalid receipt of a lost entry in the verification report", async () => {
    const { api, store } = await startTwoProcesses();
    const { id, current_hash } = (await loseProposals({ api, store })).at(-1)!;
    await propose(api);
    await acceptLoss(api);
    for (let sent = 0; sent < 4; sent++) await propose(api);
    const { body } = await api.get(`audit/verify?expected_length=${id}&expected_head=${current_hash}`);
    expect(body.valid).toBe(false);
    expect(body.reason).toContain("ops accepted");
    // Entries 1 and 2, the manifest and the first proposal, were not lost.
    expect(body.losses).toMatchObject([{ entry: 3, known: { length: id, head: current_hash }, actor: "ops" }]);
  });

  test("lets every process continue, whether it had detected the loss or not", async () => {
    const { api, other, store } = await startTwoProcesses();
    const third = makeCore(await restartDeps(api.deps));
    const backup = await store.copy();
    for (const client of [api, other, third]) await propose(client);
    await store.goBack(backup);
    expect(await propose(api)).toMatchObject(CHAIN_BROKEN);
    expect(await propose(other)).toMatchObject(CHAIN_BROKEN);
    expect((await acceptLoss(api)).status).toBe(200);
    for (const client of [other, third]) expect((await propose(client)).status).toBe(201);
    // A second loss must be accepted separately.
    await store.goBack(backup);
    expect(await propose(third)).toMatchObject(CHAIN_BROKEN);
    expect((await acceptLoss(other)).status).toBe(200);
    for (const client of [api, other, third]) expect((await propose(client)).status).toBe(201);
    expect(chainFault(await api.audit())).toBeNull();
  });

  test("invalidates earlier consents, which can be given again", async () => {
    const { api, store } = await startTwoProcesses({ intent: { policy: { required_approvers: { standard: 2 } } } });
    const pending = (await api.propose()).change_id;
    await api.post("approve", { change_id: pending, approver: "ana" });
    const approved = (await api.propose({ target: "ui.menu" })).change_id;
    for (const approver of ["ana", "bo"]) await api.post("approve", { change_id: approved, approver });
    const applied = (await api.propose({ target: "ui.other" })).change_id;
    for (const approver of ["ana", "bo"]) await api.post("approve", { change_id: applied, approver });
    await api.must("apply", applied);
    await loseProposals({ api, store });
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

  test("is no breach although an anchor still covers the lost entries", async () => {
    const anchor = makeAnchor();
    const { api, store } = await startTwoProcesses({ anchor });
    const backup = await store.copy();
    await propose(api);
    const { length } = await readLogEnd(api);
    await maintainCheckpoint(api.deps);
    expect(anchor.notes.length).toBeGreaterThan(0);
    await store.goBack(backup);
    // This process knows the earlier end from the anchor only.
    const newProcess = makeCore(await restartDeps(api.deps, { anchor }));
    expect(await propose(newProcess)).toMatchObject(CHAIN_BROKEN);
    expect((await acceptLoss(newProcess)).body).toMatchObject({ known: { length } });
    expect((await propose(newProcess)).status).toBe(201);
    const restarted = makeCore(await restartDeps(api.deps, { anchor }));
    expect(restarted.deps.integrity.breach).toBeUndefined();
    expect((await propose(restarted)).status).toBe(201);
  });

  test("freezes the service until a person unfreezes it", async () => {
    const { api, store } = await startTwoProcesses();
    await loseProposals({ api, store });
    await propose(api);
    await acceptLoss(api);
    const change_id = (await api.propose()).change_id;
    await api.must("approve", change_id);
    expect(await api.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "frozen" } });
    await api.post("unfreeze", { actor: "ops" });
    expect((await api.act("apply", change_id)).status).toBe(200);
  });

  test("must name the current end of the log, and needs a detected loss", async () => {
    const { api, store } = await startTwoProcesses();
    expect(await acceptLoss(api)).toMatchObject({ status: 400, body: { code: "illegal_transition" } });
    await loseProposals({ api, store });
    await propose(api);
    for (const [field, value] of [
      ["length", 7],
      ["head", "a".repeat(64)],
    ] as const)
      expect(await acceptLoss(api, { [field]: value })).toMatchObject({
        status: 400,
        body: { code: "invalid_field", fields: [{ field }] },
      });
    expect(await propose(api)).toMatchObject(CHAIN_BROKEN);
  });

  test("is rejected if the remaining entries are broken", async () => {
    const { api, store } = await startTwoProcesses();
    await propose(api);
    await loseProposals({ api, store });
    await propose(api);
    await store.store.transact(async (tx) => {
      const [first] = await tx.list("audit", { limit: 1 });
      tx.put("audit", first!.id, { ...first!.value, tenant: "t9" });
    });
    expect(await acceptLoss(api)).toMatchObject({ status: 503, body: { code: "chain_broken", first_invalid: 1 } });
  });

  test("must be signed under signed_only, with the end that the person saw", async () => {
    const signer = passkey();
    const { api, store } = await startTwoProcesses({ intent: { principals: { "ana@acme.example": person(signer) } } });
    await loseProposals({ api, store });
    await propose(api);
    const end = await readLogEnd(api);
    const fields = { actor: "ana@acme.example", note: "failover" };
    expect(await acceptLoss(api, fields)).toMatchObject({ status: 403, body: { code: "proof_required" } });
    const signed = await postSignedAction(api, signer, "accept_loss", {
      ...fields,
      ...end,
      length: String(end.length),
    });
    expect(signed).toMatchObject({ status: 200 });
    const entry = (await api.audit()).find(({ event_type }) => event_type === "loss_accepted")!;
    expect(JSON.parse(JSON.parse(entry.detail).statement)).toMatchObject({ decision: "accept_loss", ...end });
  });
});
