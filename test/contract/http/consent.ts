/** Consent: who may decide, how many approvals are needed, and the time limit. */
import { expect, test } from "vitest";
import { events, PROPOSAL } from "../../support/client.ts";
import { DAY, HOUR, MINUTE } from "../../support/clock.ts";
import type { Open } from "../http_contract.ts";

const ANA = "ana@acme.example";
/** Spellings that count as the name ANA. */
const VARIANTS = ["ANA@acme.example", " ana@acme.example ", "ａｎａ@acme.example", "Ana@Acme.Example"];
const policy = (rules: object) => ({ intent: { policy: rules } });

export function consentRules(open: Open): void {
  test("a decision returns the change, and its entry has the decision's facts", async () => {
    const api = await open();
    const { change_id, digest } = await api.propose();
    const { manifest_hash } = (await api.get("intent")).body;
    const { body } = await api.post("approve", { change_id, approver: ANA, note: "ship it" });
    const approvals = [{ approver: ANA, note: "ship it", at: body.audit_entry.timestamp }];
    expect(body).toMatchObject({ change_id, status: "approved", decision: "approved", approvals });
    expect(body.change).toMatchObject({ approver: ANA, approval_note: "ship it", approvals });
    expect(JSON.parse(body.audit_entry.detail)).toMatchObject({
      approver: ANA,
      note: "ship it",
      digest,
      manifest_hash,
    });
  });

  test("if the intent requires two approvers, two different names are needed", async () => {
    const api = await open(policy({ required_approvers: { standard: 2 } }));
    const { change_id } = await api.propose();
    const first = await api.post("approve", { change_id, approver: ANA });
    expect(first).toMatchObject({ status: 200, body: { status: "pending_consent", decision: "approved" } });
    expect(JSON.parse(first.body.audit_entry.detail).progress).toBe("1 of 2");
    expect((await api.act("apply", change_id)).body.code).toBe("illegal_transition");
    const second = await api.post("approve", { change_id, approver: "bo" });
    expect(second.body).toMatchObject({ status: "approved", approvals: [{ approver: ANA }, { approver: "bo" }] });
    expect(JSON.parse(second.body.audit_entry.detail).progress).toBe("2 of 2");
    expect(events(await api.steps())).toEqual(["change_proposed", "consent_decision", "consent_decision"]);
  });

  test.each([ANA, ...VARIANTS])(`after ${ANA}, the same name as %j cannot approve again`, async (approver) => {
    const api = await open(policy({ required_approvers: { standard: 2 } }));
    const { change_id } = await api.propose();
    await api.post("approve", { change_id, approver: ANA });
    expect(await api.post("approve", { change_id, approver })).toMatchObject({
      status: 400,
      body: { code: "already_decided" },
    });
    expect((await api.change(change_id)).approvals).toHaveLength(1);
    expect(await api.steps()).toHaveLength(2);
  });

  test("20 concurrent approvals of two people count as two", async () => {
    const api = await open(policy({ required_approvers: { standard: 3 } }));
    const { change_id } = await api.propose();
    const approvers = Array.from({ length: 20 }, (_, index) => (index % 2 ? "ana" : "bo"));
    const replies = await Promise.all(approvers.map((approver) => api.post("approve", { change_id, approver })));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(2);
    expect(await api.change(change_id)).toMatchObject({ status: "pending_consent", approvals: [{}, {}] });
  });

  test("one denial is final, however many people approved", async () => {
    const api = await open(policy({ required_approvers: { standard: 2 } }));
    const { change_id } = await api.propose();
    await api.must("approve", change_id);
    const denied = await api.post("deny", { change_id, approver: "bo", note: "no" });
    expect(denied.body).toMatchObject({ status: "denied", decision: "denied" });
    expect(denied.body.change).toMatchObject({ resolution: "denied", approver: "bo", approval_note: "no" });
    expect((await api.post("approve", { change_id, approver: "cy" })).body.code).toBe("illegal_transition");
  });

  test.each(["pat", "PAT", " ｐａｔ "])(
    "without self-approval the proposer pat may not approve as %j",
    async (approver) => {
      const api = await open(policy({ self_approval: false }));
      const { change_id } = await api.propose({ proposer: "pat" });
      expect(await api.post("approve", { change_id, approver })).toMatchObject({
        status: 403,
        body: { code: "self_approval_forbidden" },
      });
      expect((await api.post("approve", { change_id, approver: "ana" })).status).toBe(200);
    },
  );

  test("without self-approval, a change that needs consent must name its proposer", async () => {
    const minor = { kinds: ["config"], targets: ["ui.*"] };
    const api = await open(policy({ self_approval: false, minor }));
    expect(await api.post("propose", PROPOSAL)).toMatchObject({
      status: 400,
      body: { fields: [{ field: "proposer" }] },
    });
    const minorProposal = { tier: "minor", affected_users: 1, risk: "low", reversible: true };
    expect((await api.propose(minorProposal)).status).toBe("approved");
  });

  test("self-approval is allowed by default", async () => {
    const api = await open();
    const { change_id } = await api.propose({ proposer: "ana" });
    expect((await api.act("approve", change_id)).status).toBe(200);
  });

  test("only the approvers of the intent can approve and deny", async () => {
    const api = await open(policy({ approvers: [ANA, "ｂｏ"] }));
    const { change_id } = await api.propose();
    for (const action of ["approve", "deny"])
      for (const approver of ["eve", `${ANA}.evil.example`, "an"])
        expect(await api.post(action, { change_id, approver })).toMatchObject({
          status: 403,
          body: { code: "not_an_approver" },
        });
    expect(await api.steps()).toHaveLength(1);
    expect((await api.post("approve", { change_id, approver: "Bo" })).status).toBe(200);
  });

  test.each(VARIANTS)(`the approver ${ANA} may be written %j`, async (approver) => {
    const api = await open(policy({ approvers: [ANA] }));
    const { change_id } = await api.propose();
    expect((await api.post("approve", { change_id, approver })).status).toBe(200);
  });

  test("only the proposer can withdraw a change", async () => {
    const api = await open();
    const { change_id } = await api.propose({ proposer: "pat" });
    expect(await api.post("withdraw", { change_id, proposer: "eve" })).toMatchObject({
      status: 403,
      body: { code: "not_the_proposer" },
    });
    const { body } = await api.post("withdraw", { change_id, proposer: "PAT", note: "later" });
    expect(body).toMatchObject({ status: "denied", decision: "withdrawn", change: { resolution: "withdrawn" } });
    expect(body.audit_entry.event_type).toBe("consent_decision");
    expect(JSON.parse(body.audit_entry.detail)).toMatchObject({ decision: "withdrawn", note: "later" });
  });

  const TTL = policy({ consent_ttl_hours: 72 });
  type ContractClient = Awaited<ReturnType<Open>>;
  /** Advances the clock, runs a cycle, and advances ten minutes more, after which the elapsed time counts as certain. */
  const pass = async (api: ContractClient, ms: number): Promise<void> => {
    api.advance(ms);
    await api.post("/api/action/run-now");
    api.advance(10 * MINUTE);
  };

  test.each(["approve", "deny", "withdraw", "apply"] as const)(
    "%s after the time limit is rejected, and the change is denied",
    async (action) => {
      const api = await open(TTL);
      const { change_id } = await api.propose();
      await pass(api, 72 * HOUR + 1);
      expect(await api.act(action, change_id)).toMatchObject({
        status: 400,
        body: { code: "illegal_transition", current_status: "denied", allowed: [] },
      });
      expect(await api.change(change_id)).toMatchObject({
        status: "denied",
        resolution: "expired",
        approver: "policy:expiry",
      });
      expect(events(await api.steps())).toEqual(["change_proposed", "consent_decision"]);
    },
  );

  test.each(["approve", "apply"] as const)(
    "%s right after the time limit is rejected, and the change is denied ten minutes later",
    async (action) => {
      const api = await open(TTL);
      const { change_id } = await api.propose();
      api.advance(72 * HOUR + 1);
      const rejection = { status: 400, body: { code: "illegal_transition", current_status: "pending_consent" } };
      for (let minute = 0; minute < 10; minute++) {
        expect(await api.act(action, change_id)).toMatchObject(rejection);
        await api.post("/api/action/run-now");
        const change = await api.change(change_id);
        expect(change).toMatchObject({ status: "pending_consent", allowed_actions: ["deny", "withdraw"] });
        expect(change.gates).toContainEqual(expect.objectContaining({ gate: "deadline", state: "block" }));
        api.advance(MINUTE);
      }
      expect(await api.change(change_id)).toMatchObject({ status: "denied", resolution: "expired" });
    },
  );

  test("a change whose time limit is over, but not yet for certain, can be denied and withdrawn", async () => {
    const api = await open(TTL);
    for (const action of ["deny", "withdraw"] as const) {
      const { change_id } = await api.propose();
      api.advance(73 * HOUR);
      expect((await api.act(action, change_id)).status).toBe(200);
    }
  });

  test("consent exactly at the time limit is accepted", async () => {
    const api = await open(TTL);
    const { change_id } = await api.propose();
    api.advance(72 * HOUR);
    expect((await api.act("approve", change_id)).status).toBe(200);
  });

  test.each([
    ["changes/ID", (body: { status: string }) => body.status],
    ["approvals", (body: { pending: object[] }) => (body.pending.length === 0 ? "denied" : "pending_consent")],
    ["runtime", (body: { changes: { status: string }[] }) => body.changes[0]!.status],
  ] as [string, (body: never) => string][])(
    "a read of %s shows an overdue change as denied",
    async (path, readStatus) => {
      const api = await open(TTL);
      const { change_id } = await api.propose();
      await pass(api, 73 * HOUR);
      const { body } = await api.get(path.replace("ID", change_id));
      expect(readStatus(body as never)).toBe("denied");
      expect(events(await api.steps()), "a read writes nothing").toEqual(["change_proposed"]);
      await api.post("/api/action/run-now");
      const [, entry] = await api.steps();
      expect(JSON.parse(entry.detail)).toMatchObject({ decision: "expired", approver: "policy:expiry" });
    },
  );

  test("an overdue change is shown as it will be recorded, at the revision of its record", async () => {
    const api = await open(TTL);
    const { change_id } = await api.propose();
    const path = `/api/product/changes/${change_id}`;
    const pending = await api.get(path);
    await pass(api, 73 * HOUR);
    const { headers, body: shownChange } = await api.get(path, { "if-none-match": pending.headers.get("etag")! });
    expect(shownChange).toMatchObject({
      status: "denied",
      resolution: "expired",
      approver: "policy:expiry",
      approval_note: "no consent within 72 hours",
      allowed_actions: [],
      revision: 1,
    });
    expect(shownChange.audit_entries).toHaveLength(1);
    expect(headers.get("etag"), "the shown status is not recorded yet").toBeNull();
    expect((await api.get("runtime?status=pending_consent")).body).toMatchObject({ changes: [], total: 0 });
    expect((await api.get("runtime?status=denied")).body).toMatchObject({ changes: [{ change_id }], total: 1 });
    expect((await api.get("/api/inbox")).body.totals).toMatchObject({ pending: 0, expiring: 0 });
    expect((await api.get("/api/find?q=is:pending")).body.total).toBe(0);
    expect((await api.get("/api/find?q=expiry+hours+is:denied")).body.total).toBe(1);
    await api.post("/api/action/run-now");
    const recorded = await api.get(path);
    const { decided_at: _, ...same } = shownChange;
    expect(recorded.body).toMatchObject({ ...same, revision: 2, audit_entries: expect.any(Array) });
    expect(recorded.headers.get("etag")).toBe('"2"');
  });

  test("a read shows an overdue change as denied, however many are overdue", async () => {
    const api = await open(TTL);
    const changes = await Promise.all(Array.from({ length: 120 }, () => api.propose()));
    await pass(api, 73 * HOUR);
    expect((await api.change(changes.at(-1)!.change_id)).status).toBe("denied");
    expect((await api.get("approvals")).body.pending).toEqual([]);
  });

  test("an approved change does not expire, and without a limit nothing does", async () => {
    const limited = await open(TTL);
    const approved = await limited.bring("approved");
    limited.advance(400 * DAY);
    expect((await limited.act("apply", approved)).status).toBe(200);
    const unlimited = await open();
    const pending = await unlimited.bring("pending_consent");
    unlimited.advance(4000 * DAY);
    expect((await unlimited.act("approve", pending)).status).toBe(200);
  });
}
