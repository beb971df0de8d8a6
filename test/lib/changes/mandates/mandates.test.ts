/** Mandates: made, signed, and what they approve. */
import { expect, test } from "vitest";
import { HOUR } from "../../../support/clock.ts";
import { AS_OTHER, mandated } from "../../../support/mandates.ts";

test("a draft counts for nothing, and the last signature of the quorum makes it active", async () => {
  const { draft, decideOn, propose, mandate } = await mandated();
  const made = await draft({ note: "Prices follow the market." });
  expect(made).toMatchObject({ status: 201, body: { state: "draft", revision: 1, left: { today: 10, open: 5 } } });
  const { mandate_id } = made.body;
  expect((await propose({ target: "price.pro" })).body).toMatchObject({ status: "pending_consent" });
  const first = await decideOn("mandate", mandate_id, "ana");
  expect(first).toMatchObject({ status: 200, body: { state: "draft", missing: [{ count: 1, of: ["bo"] }] } });
  const last = await decideOn("mandate", mandate_id, "bo");
  expect(last).toMatchObject({ status: 200, body: { state: "active", missing: [] } });
  expect(JSON.parse(last.body.audit_entry.detail)).toMatchObject({ status: "active", bounds: { max_per_day: 10 } });
  const change = await propose();
  expect(change).toMatchObject({ status: 201, body: { status: "approved", approver: `mandate:${mandate_id}` } });
  expect(JSON.parse(change.body.audit_entry.detail)).toMatchObject({
    mandate: { mandate_id, number: 1, left: { today: 9, open: 4 } },
  });
  expect(await mandate(mandate_id)).toMatchObject({
    used: { today: 1, open: 1 },
    left: { today: 9, open: 4 },
    changes: [{ change_id: change.body.change_id, status: "approved" }],
  });
});

test("what it approved is applied, and a later suspension stops what is not", async () => {
  const { active, propose, apply, mandate, decideOn, send } = await mandated(
    {},
    { "price.basic": 100, "price.pro": 100 },
  );
  const id = await active();
  const first = (await propose()).body.change_id;
  expect(await apply(first)).toMatchObject({ status: 200, body: { status: "applied" } });
  expect((await propose({ value: 106 })).body.outside).toMatchObject([{ bound: "max_step" }]);
  expect((await propose({ value: 105 })).body).toMatchObject({ status: "approved" });
  const second = (await propose({ target: "price.pro" })).body;
  expect(second).toMatchObject({ status: "approved" });
  expect(await send("rollback", { change_id: first, actor: "ana" })).toMatchObject({ status: 200 });
  expect(await mandate(id)).toMatchObject({ state: "suspended", suspension: { reason: "rollback", change_id: first } });
  expect(await apply(second.change_id)).toMatchObject({
    status: 403,
    body: { code: "consent_incomplete", missing: [{ rule: "required_approvers", count: 1, mandate: id }] },
  });
  expect((await propose()).body).toMatchObject({
    status: "pending_consent",
    outside: [{ mandate_id: id, bound: "state" }],
  });
  await decideOn("mandate_resume", id, "ana");
  expect((await decideOn("mandate_resume", id, "bo")).body).toMatchObject({ state: "active", revision: 2 });
  expect(await apply(second.change_id)).toMatchObject({ status: 200 });
});

test.each([
  ["agent of another name", { headers: AS_OTHER }, undefined],
  ["kinds", { kind: "feature_flag" }, "kinds"],
  ["targets", { target: "plan.basic" }, "targets"],
  ["tenants", { tenant_id: "t2" }, "tenants"],
  ["a step", { value: 106 }, "max_step"],
  ["no number", { value: "104" }, "max_step"],
  ["no value", { value: undefined }, "limits"],
  ["users", { affected_users: 101 }, "max_affected_users"],
  ["unstated users", { affected_users: undefined }, "max_affected_users"],
  ["unstated risk", { risk: undefined }, "risk"],
  ["high risk", { risk: "high" }, "risk"],
  ["not reversible", { reversible: false }, "reversible"],
  ["reversible not stated", { reversible: undefined }, "reversible"],
  ["a target that held nothing", { target: "price.new" }, "max_step"],
])(
  "outside by %s waits for people and says why",
  async (_, { headers, ...over }: Record<string, unknown> & { headers?: HeadersInit }, bound) => {
    const { active, propose } = await mandated({}, { "price.basic": 100, "plan.basic": 100 });
    const mandate_id = await active();
    const reply = await propose(over, headers);
    if (reply.status !== 201) {
      expect(reply.body.code).toBe("no_target_system");
      return;
    }
    expect(reply.body.status).toBe("pending_consent");
    expect(reply.body.outside).toEqual(bound && [{ mandate_id, bound, message: expect.any(String) }]);
  },
);

test("counts are exact, and a day begins again", async () => {
  const { active, propose, api } = await mandated();
  await active({ max_per_day: 3, max_open: 3 });
  const states = [];
  for (let at = 0; at < 4; at++) states.push((await propose({ value: 100 + at })).body.status);
  expect(states).toEqual(["approved", "approved", "approved", "pending_consent"]);
  api.deps.clock.advance(24 * HOUR);
  expect((await propose()).body.outside).toMatchObject([{ bound: "max_open" }]);
});
