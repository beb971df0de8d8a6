/** The state table of the specification, with withdraw and revoke: every legal and every illegal transition. */
import { expect, test } from "vitest";
import { type Action, ACTIONS, events, FOLLOWUP, type Reachable } from "../../support/client.ts";
import type { Open } from "../http_contract.ts";

const LEGAL: Record<Reachable, Action[]> = {
  pending_consent: ["approve", "deny", "withdraw"],
  approved: ["apply", "revoke"],
  applied: ["rollback"],
  rolled_back: [],
  denied: [],
};
const STATUSES = Object.keys(LEGAL) as Reachable[];

const TABLE: [from: Reachable, action: Action, to: Reachable, event: string][] = [
  ["pending_consent", "approve", "approved", "consent_decision"],
  ["pending_consent", "deny", "denied", "consent_decision"],
  ["pending_consent", "withdraw", "denied", "consent_decision"],
  ["approved", "revoke", "denied", "consent_decision"],
  ["approved", "apply", "applied", "change_applied"],
  ["applied", "rollback", "rolled_back", "change_rolled_back"],
];

const ILLEGAL = STATUSES.flatMap((status) =>
  ACTIONS.filter((action) => !LEGAL[status].includes(action)).map((action) => [status, action] as const),
);

export function transitionRules(open: Open): void {
  test("a proposal waits for consent by default, and is audited", async () => {
    const api = await open();
    const { status, body } = await api.post("propose-crm-followup", FOLLOWUP);
    expect([status, body.status]).toEqual([201, "pending_consent"]);
    expect(events(await api.steps())).toEqual(["change_proposed"]);
  });

  test("a minor proposal is approved immediately, and only change_proposed is written", async () => {
    const api = await open({ intent: { policy: { minor: { kinds: ["config"], targets: ["ui.*"] } } } });
    const minorProposal = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
    expect(await api.propose(minorProposal)).toMatchObject({ status: "approved", tier: "minor" });
    expect(events(await api.steps())).toEqual(["change_proposed"]);
  });

  test.each(TABLE)("from %s, %s leads to %s and is audited as %s", async (from, action, to, event) => {
    const api = await open();
    const change_id = await api.bring(from);
    const before = await api.audit();
    const { status, body } = await api.act(action, change_id);
    expect([status, body.status, body.change.status]).toEqual([200, to, to]);
    const after = await api.audit();
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.slice(before.length)).toEqual([body.audit_entry]);
    expect(body.audit_entry).toMatchObject({ event_type: event, change_id, tenant: "t1" });
    expect(await api.change(change_id)).toMatchObject({ ...body.change, allowed_actions: LEGAL[to] });
  });

  test.each(ILLEGAL)("from %s, %s is rejected and changes nothing", async (status, action) => {
    const api = await open();
    const change_id = await api.bring(status);
    const before = [await api.change(change_id), await api.audit()];
    const rejected = await api.act(action, change_id);
    expect(rejected).toMatchObject({
      status: 400,
      body: { code: "illegal_transition", change_id, current_status: status, allowed: LEGAL[status] },
    });
    expect([await api.change(change_id), await api.audit()]).toEqual(before);
  });

  test.each(ACTIONS)("%s of an unknown change is 404", async (action) => {
    const api = await open();
    const change_id = "chg_00000000-0000-7000-8000-0000000000ff";
    expect(await api.act(action, change_id)).toMatchObject({
      status: 404,
      body: { code: "change_not_found", change_id },
    });
    expect(await api.audit()).toEqual([]);
  });

  test("without an adapter, apply and rollback succeed and their response has no adapter", async () => {
    const api = await open();
    const change_id = await api.bring("approved");
    expect((await api.must("apply", change_id)).adapter).toBeNull();
    expect((await api.must("rollback", change_id)).adapter).toBeNull();
  });

  test("a dry run of a pending change returns the content to approve and changes nothing", async () => {
    const api = await open();
    const { change_id } = await api.propose();
    const before = [await api.change(change_id), await api.audit()];
    const { status, body } = await api.post("apply", { change_id, dry_run: true });
    expect([status, body]).toMatchObject([200, { status: "pending_consent", dry_run: true, audit_entry: null }]);
    expect([await api.change(change_id), await api.audit()]).toEqual(before);
  });

  test("a dry run of a rollback changes nothing", async () => {
    const api = await open();
    const change_id = await api.bring("applied");
    const before = [await api.change(change_id), await api.audit()];
    const { status, body } = await api.post("rollback", { change_id, dry_run: true });
    expect([status, body]).toMatchObject([200, { status: "applied", dry_run: true, audit_entry: null }]);
    expect([await api.change(change_id), await api.audit()]).toEqual(before);
    const pending = (await api.propose()).change_id;
    expect((await api.post("rollback", { change_id: pending, dry_run: true })).body.code).toBe("illegal_transition");
  });

  test.each([true, 1])("a dry run (dry_run: %s) of an approved change changes nothing", async (dry_run) => {
    const api = await open();
    const change_id = await api.bring("approved");
    const before = [await api.change(change_id), await api.audit()];
    const { status, body } = await api.post("apply", { change_id, dry_run });
    expect([status, body]).toMatchObject([200, { change_id, status: "approved", dry_run: true, audit_entry: null }]);
    expect([await api.change(change_id), await api.audit()]).toEqual(before);
  });

  test.each(["applied", "denied"] as const)("a dry run of a change that is %s is rejected", async (status) => {
    const api = await open();
    const change_id = await api.bring(status);
    expect(await api.post("apply", { change_id, dry_run: true })).toMatchObject({
      status: 400,
      body: { code: "illegal_transition" },
    });
  });

  test("dry_run=false applies", async () => {
    const api = await open();
    const change_id = await api.bring("approved");
    expect((await api.post("apply", { change_id, dry_run: false })).body.status).toBe("applied");
  });
}
