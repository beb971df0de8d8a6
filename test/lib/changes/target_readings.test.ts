/** Current values of the target system: shown to approvers, recorded by consents, and compared at the apply. */
import { describe, expect, test } from "vitest";
import { undoOnHost } from "../../../lib/changes/operations/host_state.ts";
import { readRecord } from "../../../lib/changes/records.ts";
import { systemClock } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import type { TargetSystem } from "../../../lib/targets/port.ts";
import { routingAdapter } from "../../../lib/targets/routing.ts";
import { sha256 } from "../../../local/node_ports.ts";
import { memoryTarget } from "../../support/memory_target.ts";
import { sshSigner } from "../../support/passkeys.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { service, type TestService } from "../../support/service.ts";
import { person, proofFields, requestStatement } from "../../support/signed.ts";

const ENTRY = { tenant_id: "t1", target: "flags/a" };
const FLAG_PROPOSAL = { ...ENTRY, kind: "config", value: "1", reversible: true };
const OLD = sha256('"old"');
/** Longer than the five seconds for which a reading is reused. */
const READING_EXPIRED_MS = 6000;

/** Opens a service with a target system in memory that counts its reads. */
async function serviceWithMemoryTarget(policy: object = {}, intentFields: object = {}) {
  const target = memoryTarget();
  let reads = 0;
  const read: typeof target.system.read = (...args) => {
    reads++;
    return target.system.read(...args);
  };
  const adapter = targetAdapter({ ...target.system, read }, { store: memoryStore(), clock: systemClock });
  const routed = routingAdapter([{ name: "flags", match: ["flags/*"], adapter }]);
  const api = await service({ adapter: routed, intent: { policy, ...intentFields } });
  const editTarget = (text: string): void => target.overwrite({ ...ENTRY, kind: "config" }, text);
  editTarget('"old"');
  return { api, editTarget, reads: () => reads, target };
}
const approve = (api: TestService, change_id: string, fields: object = {}) =>
  api.post("approve", { change_id, approver: "ana", ...fields });
/** Reads the detail of a change's apply. */
const readApplyDetail = async (api: TestService, id: string) =>
  JSON.parse(
    (await api.get(`audit?change_id=${id}`)).body.entries.find(
      ({ event_type }: { event_type: string }) => event_type === "change_applied",
    )?.detail ?? "{}",
  );

test("a change and its dry run show the target's value, read at most every five seconds", async () => {
  const { api, reads } = await serviceWithMemoryTarget();
  const { change_id } = await api.propose(FLAG_PROPOSAL);
  const seen = [{ place: expect.any(String), digest: OLD, version: expect.any(String), at: expect.any(String) }];
  expect((await api.get(`changes/${change_id}`)).body).not.toHaveProperty("seen");
  const before = reads();
  expect((await api.get(`changes/${change_id}?seen=1`)).body.seen).toEqual(seen);
  expect((await api.get(`changes/${change_id}?seen=1`)).body.seen).toEqual(seen);
  expect(reads()).toBe(before + 1);
  api.deps.clock.advance(READING_EXPIRED_MS);
  expect((await api.post("apply", { change_id, dry_run: "true" })).body.seen).toEqual(seen);
});

test("approvers immediately see values written by apply, restore and rollback", async () => {
  const { api, editTarget } = await serviceWithMemoryTarget();
  const { change_id } = await api.propose(FLAG_PROPOSAL);
  const observed = (await api.propose(FLAG_PROPOSAL)).change_id;
  const digest = async () => (await api.get(`changes/${observed}?seen=1`)).body.seen[0].digest;
  const act = async (path: string) => {
    expect(await api.post(path, { change_id, actor: "ana" })).toMatchObject({ status: 200 });
    return digest();
  };
  expect(await digest()).toBe(OLD);
  await approve(api, change_id);
  expect(await act("apply")).toBe(sha256("1"));
  editTarget('"edited"');
  api.deps.clock.advance(READING_EXPIRED_MS);
  expect(await digest()).toBe(sha256('"edited"'));
  expect(await act("restore")).toBe(sha256("1"));
  expect(await act("rollback")).toBe(OLD);
});

test("approvers immediately see the value restored after an interrupted apply", async () => {
  const { api } = await serviceWithMemoryTarget();
  const { change_id } = await api.propose(FLAG_PROPOSAL);
  await approve(api, change_id);
  await api.post("apply", { change_id, actor: "ana" });
  const observed = (await api.propose(FLAG_PROPOSAL)).change_id;
  const digest = async () => (await api.get(`changes/${observed}?seen=1`)).body.seen[0].digest;
  expect(await digest()).toBe(sha256("1"));
  // As the service does after an apply that was interrupted.
  await undoOnHost(api.deps.product!.adapter!, [(await readRecord(api.deps.store, change_id))!.change]);
  expect(await digest()).toBe(OLD);
});

test("a consent records the digests its approver saw, one for each target", async () => {
  const { api } = await serviceWithMemoryTarget();
  const { change_id } = await api.propose(FLAG_PROPOSAL);
  for (const seen of ["[]", `["${OLD}","${OLD}"]`, '["x"]']) {
    const reply = await approve(api, change_id, { seen });
    expect([reply.status, reply.body.code, reply.body.fields[0].field.split(".")[0]]).toEqual([
      400,
      "invalid_field",
      "seen",
    ]);
  }
  const { body } = await approve(api, change_id, { seen: JSON.stringify([OLD]) });
  expect(body.change.approvals).toMatchObject([{ approver: "ana", seen: [OLD] }]);
  expect(JSON.parse(body.audit_entry.detail).seen).toEqual([OLD]);
});

test("an apply over a value that its approver did not see is a warning gate, and is recorded", async () => {
  const { api, editTarget } = await serviceWithMemoryTarget();
  const { change_id } = await api.propose(FLAG_PROPOSAL);
  await approve(api, change_id, { seen: JSON.stringify([OLD]) });
  editTarget('"other"');
  api.deps.clock.advance(READING_EXPIRED_MS);
  const { gates } = (await api.get(`changes/${change_id}?seen=1`)).body;
  expect(gates).toContainEqual(expect.objectContaining({ gate: "target_moved", state: "warn" }));
  await api.must("apply", change_id);
  expect((await readApplyDetail(api, change_id)).value_moved).toMatchObject([{ digest: sha256('"other"') }]);
});

test("with on_moved: block an apply over another value is rejected, and consents need digests", async () => {
  const { api, editTarget } = await serviceWithMemoryTarget({ on_moved: "block" });
  const { change_id } = await api.propose(FLAG_PROPOSAL);
  const withoutDigests = await approve(api, change_id);
  expect([withoutDigests.status, withoutDigests.body.fields[0].field]).toEqual([400, "seen"]);
  await approve(api, change_id, { seen: JSON.stringify([OLD]) });
  editTarget('"other"');
  const reply = await api.post("apply", { change_id });
  expect([reply.status, reply.body.code]).toEqual([409, "target_moved"]);
  editTarget('"old"');
  await api.must("apply", change_id);
});

test("with on_moved: block a change approved without digests is not applied", async () => {
  const { api } = await serviceWithMemoryTarget({ on_moved: "report" });
  const { change_id } = await api.propose(FLAG_PROPOSAL);
  await approve(api, change_id);
  const policy = { ...api.deps.product!.intent.policy, on_moved: "block" as const };
  api.deps.product!.intent = { ...api.deps.product!.intent, policy };
  const reply = await api.post("apply", { change_id });
  expect([reply.status, reply.body.code]).toEqual([409, "target_moved"]);
});

test("with on_moved: block an edit just before the write is not overwritten", async () => {
  const { api, editTarget, target } = await serviceWithMemoryTarget({ on_moved: "block" });
  const { change_id } = await api.propose(FLAG_PROPOSAL);
  await approve(api, change_id, { seen: JSON.stringify([OLD]) });
  target.edits.push(() => editTarget('"other"'));
  const reply = await api.post("apply", { change_id });
  expect([reply.status, reply.body]).toMatchObject([
    409,
    { code: "target_moved", seen: [{ place: expect.any(String), digest: sha256('"other"') }] },
  ]);
  expect((await target.system.read({ ...ENTRY, kind: "config", value: 1 }, new AbortController().signal)).value).toBe(
    "other",
  );
});

test("a minor change's consent records the value read at the proposal", async () => {
  const { api, editTarget } = await serviceWithMemoryTarget({ minor: { kinds: ["config"], targets: ["flags/*"] } });
  const minor = { ...FLAG_PROPOSAL, tier: "minor", risk: "low", affected_users: "1" };
  const change = await api.propose(minor);
  expect(change).toMatchObject({ status: "approved", seen_by_policy: [OLD] });
  editTarget('"other"');
  // A minor change is bound to this value also without on_moved: block.
  const reply = await api.post("apply", { change_id: change.change_id });
  expect([reply.status, reply.body.code]).toEqual([409, "target_moved"]);
});

test("a signature covers the digests seen, and is invalid with others", async () => {
  const signer = sshSigner();
  const { api } = await serviceWithMemoryTarget({}, { principals: { ana: person(signer) } });
  const { change_id } = await api.propose(FLAG_PROPOSAL);
  const fields = { decision: "approve", approver: "ana", change_id, seen: JSON.stringify([OLD]) };
  const statement = await requestStatement(api, fields);
  expect(JSON.parse(statement)).toMatchObject({ seen: [OLD], places: [{ system: "flags" }] });
  const wrong = await approve(api, change_id, {
    seen: JSON.stringify([sha256("1")]),
    ...proofFields(signer, statement),
  });
  expect([wrong.status, wrong.body.code]).toEqual([403, "proof_invalid"]);
  await approve(api, change_id, { seen: JSON.stringify([OLD]), ...proofFields(signer, statement) });
  await api.must("apply", change_id);
});

test("a target that cannot be read shows no value, and consents need no digests", async () => {
  const api = await service({ adapter: scriptedAdapter(), intent: { policy: { on_moved: "block" } } });
  const { change_id } = await api.propose(FLAG_PROPOSAL);
  expect((await api.get(`changes/${change_id}?seen=1`)).body).not.toHaveProperty("seen");
  expect((await approve(api, change_id)).status).toBe(200);
});

describe("a value that its target system rejects", () => {
  const serviceWith = async (methods: Partial<TargetSystem>, policy: object = {}) => {
    const { system } = memoryTarget();
    const adapter = targetAdapter({ ...system, ...methods }, { store: memoryStore(), clock: systemClock });
    const routed = routingAdapter([{ name: "flags", match: ["flags/*"], adapter }]);
    return service({ adapter: routed, intent: { policy } });
  };
  /** Proposes a value; returns 201, or the status, code and error of the rejection. */
  const tryPropose = async (methods: Partial<TargetSystem>, more: object = {}, policy: object = {}) => {
    const api = await serviceWith(methods, policy);
    const { status, body } = await api.post("propose", { ...FLAG_PROPOSAL, ...OTHER_FIELDS, ...more });
    return status === 201 ? status : [status, body.code, body.error];
  };
  const OTHER_FIELDS = { summary: "Set it", affected_users: "1", risk: "low", proposer: "bo" };
  /** As `check` it judges the value alone; as `checkHeld` it judges the value together with the current one. */
  const rejectValue = () => "it is too large";
  const NOT_ALLOWED = [400, "value_not_allowed", expect.stringContaining("flags/a cannot hold the value: it is too")];
  const unreadable = { checkHeld: rejectValue, read: () => Promise.reject(new Error("no file")) };
  /** The method `ping` marks a remote system, whose reads cost a request. */
  const remote = { checkHeld: rejectValue, ping: async () => undefined };
  const MINOR = { minor: { kinds: ["config"], targets: ["flags/*"] } };

  test("is rejected at the proposal, by the system itself or because of the current value", async () => {
    expect(await tryPropose({ check: rejectValue })).toEqual(NOT_ALLOWED);
    expect(await tryPropose({ checkHeld: rejectValue })).toEqual(NOT_ALLOWED);
  });

  test("is rejected at the proposal on a remote system only if the system is read anyway", async () => {
    expect(await tryPropose(remote)).toBe(201);
    expect(await tryPropose(remote, { tier: "minor" }, MINOR)).toEqual(NOT_ALLOWED);
  });

  test("is accepted at the proposal if the target cannot be read", async () => {
    expect(await tryPropose(unreadable)).toBe(201);
  });

  test("on a forbidden target is rejected as forbidden_target, before the value is judged", async () => {
    const [status, code] = (await tryPropose(
      { check: rejectValue },
      {},
      { forbidden_targets: ["flags/*"] },
    )) as unknown[];
    expect([status, code]).toEqual([403, "forbidden_target"]);
  });
});
