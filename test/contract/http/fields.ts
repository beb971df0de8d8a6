/** Values that each field accepts, the same from a form and from JSON. */
import { expect, test } from "vitest";
import { FOLLOWUP, PROPOSAL } from "../../support/client.ts";
import type { Fields } from "../../support/requests.ts";
import type { Open } from "../http_contract.ts";

const REQUIRED: Record<string, Fields> = {
  "propose-crm-followup": FOLLOWUP,
  propose: PROPOSAL,
  approve: { change_id: "chg_1", approver: "ana" },
  deny: { change_id: "chg_1", approver: "ana" },
  withdraw: { change_id: "chg_1", proposer: "pat" },
  revoke: { change_id: "chg_1", approver: "ana" },
  apply: { change_id: "chg_1" },
  rollback: { change_id: "chg_1" },
  review: { change_id: "chg_1", approver: "ana", verdict: "accepted" },
};

/** The id of a change to promote: a promotion copies kind, target and value, so a proposal need not state them. */
const PROMOTED = "chg_019b8d2b-93d0-7000-8000-000000000001";

/** Each required field with the path that needs it. */
const MISSING = Object.entries(REQUIRED).flatMap(([path, fields]) =>
  Object.keys(fields).map((field) => [path, field] as const),
);

/** Texts that the JSON grammar allows as numbers, with their values. */
const NUMBERS: [text: string, value: number][] = [
  ["0", 0],
  ["-0", 0],
  ["1", 1],
  ["-12.50", -12.5],
  ["1e-05", 1e-5],
  ["1E+2", 100],
  ["0.5", 0.5],
  ["1.7976931348623157e308", Number.MAX_VALUE],
];

/** Texts that other parsers accept as numbers. */
const NOT_NUMBERS = [
  "",
  " ",
  "NaN",
  "Infinity",
  "-Infinity",
  "0x10",
  "0b1",
  "1e999",
  "-1e999",
  " 1",
  "1 ",
  "+1",
  "01",
  "-01",
  "1.",
  ".5",
  "1e",
  "e1",
  "1,5",
  "1_000",
  "--1",
  "1n",
  "true",
  "null",
  "١",
  "１",
  "1\u00a0",
  "1\n",
];

const NOT_JSON_NUMBERS = [null, true, false, [], [1], {}, "", "0x10", " 1"];

/** Names with control characters or characters that a reader cannot see. */
const INVISIBLE = [
  "a\u0000b",
  "a\nb",
  "a\u200bb",
  "a\u202eb",
  "a\ufeffb",
  "a\u2028b",
  "a\u00adb",
  "\u3164",
  "a\u{e0041}",
  "a\u2800",
  "a\ufff9",
];

/** Returns the proposal as JSON with one more member, whose value is given as JSON text. */
const proposalWith = (name: string, valueText: string) =>
  `${JSON.stringify(PROPOSAL).slice(0, -1)},"${name}":${valueText}}`;

export function fieldRules(open: Open): void {
  const propose = async (fields: Fields) => (await open()).post("propose", { ...PROPOSAL, ...fields });
  const expectAccepted = async (fields: Fields) => expect((await propose(fields)).status).toBe(201);
  const expectRejected = async (fields: Fields, field: string) =>
    expect(await propose(fields)).toMatchObject({ status: 400, body: { code: "invalid_field", fields: [{ field }] } });

  test.each(MISSING)("%s needs %s", async (path, field) => {
    const { [field]: _, ...rest } = REQUIRED[path]!;
    const api = await open();
    const absent = await api.post(path, rest);
    expect(absent).toMatchObject({
      status: 400,
      body: { code: "invalid_field", fields: [{ field, message: "is required" }] },
    });
    const empty = await api.post(path, { ...rest, [field]: "" });
    expect(empty).toMatchObject({ status: 400, body: { code: "invalid_field", fields: [{ field }] } });
    expect(await api.json(path, { ...rest, [field]: null })).toMatchObject({
      status: 400,
      body: { fields: [{ field }] },
    });
  });

  test("a proposal without its required fields gets one error that names all of them", async () => {
    const { body } = await (await open()).post("propose", { tenant_id: "t1" });
    expect(body.error).toBe("summary is required; kind is required; target is required");
    const promotion = await (await open()).post("propose", { promotes: PROMOTED });
    expect(promotion.body.error).toBe("tenant_id is required; summary is required");
  });

  test.each(NUMBERS)("the number %s is read", async (text, value) => {
    const api = await open();
    const inForm = await api.propose({ expected_delta_k: text });
    expect(inForm.expected_delta_k).toBe(value);
    const inJson = await api.raw("propose", proposalWith("expected_delta_k", text), {
      "content-type": "application/json",
    });
    expect(inJson.body.digest).toBe(inForm.digest);
  });

  test.each(NOT_NUMBERS)("the text %j is rejected as a number", async (text) => {
    const api = await open();
    for (const field of ["expected_delta_k", "affected_users"]) {
      const reply = await api.post("propose-crm-followup", { ...FOLLOWUP, [field]: text });
      expect(reply, field).toMatchObject({ status: 400, body: { code: "invalid_field", fields: [{ field }] } });
    }
    expect(await api.post("kpi", { csat: text })).toMatchObject({ status: 400, body: { fields: [{ field: "csat" }] } });
    expect(await api.audit()).toEqual([]);
  });

  test.each(NOT_JSON_NUMBERS)("the JSON value %j is rejected as a number", async (value) => {
    const api = await open();
    const reply = await api.json("propose-crm-followup", { ...FOLLOWUP, expected_delta_k: value });
    expect(reply).toMatchObject({ status: 400, body: { fields: [{ field: "expected_delta_k" }] } });
  });

  test.each(["0", "100000000", "1e2", "9007199254740991"])("affected_users may be %s", (text) =>
    expectAccepted({ affected_users: text }),
  );
  test.each(["-1", "1.5", "1e-1", "9007199254740992", "1e300"])("affected_users may not be %s", (text) =>
    expectRejected({ affected_users: text }, "affected_users"),
  );

  test.each([
    ["true", true],
    ["1", true],
    ["false", false],
    ["0", false],
  ])("reversible=%s is %s", async (text, value) => {
    const api = await open();
    expect((await api.propose({ reversible: text })).reversible).toBe(value);
    expect((await api.json("propose", { ...PROPOSAL, reversible: value })).body.reversible).toBe(value);
  });
  test.each(["", "TRUE", "yes", "on", "2", " true", "null"])("reversible=%j is rejected", (text) =>
    expectRejected({ reversible: text }, "reversible"),
  );

  test.each([
    ["kind", "config", "Config"],
    ["tier", "major", "huge"],
    ["risk", "high", ""],
    ["kpi", "incident_rate", "revenue"],
  ])("%s accepts %s and rejects %j", async (field, valid, invalid) => {
    await expectAccepted({ [field]: valid });
    await expectRejected({ [field]: invalid }, field);
  });

  test.each(["a", "A.b_c:d/e-f", "9", "a/.b/c..d", "x".repeat(200)])("the target %s is accepted", (target) =>
    expectAccepted({ target }),
  );
  test.each([
    "",
    ".a",
    "-a",
    "/a",
    "a b",
    "é",
    "a\n",
    "a\u0000",
    "a*",
    "a%",
    "ui/../billing",
    "ui/.",
    "ui/..",
    "ui/./a",
    "ui/",
    "x".repeat(201),
  ])("the target %j is rejected", (target) => expectRejected({ target }, "target"));

  test.each([
    ["tenant_id", 200],
    ["summary", 500],
    ["rationale", 4000],
    ["proposer", 200],
  ])("%s has at most %i characters", async (field, max) => {
    await expectAccepted({ [field]: "é".repeat(max) });
    await expectRejected({ [field]: "é".repeat(max + 1) }, field);
  });

  test.each([
    ["note", 4000],
    ["approver", 200],
  ])("%s of a decision has at most %i characters", async (field, max) => {
    const api = await open();
    const change_id = await api.bring("pending_consent");
    const decide = (text: string) => api.post("deny", { change_id, approver: "ana", [field]: text });
    expect(await decide("x".repeat(max + 1))).toMatchObject({ status: 400, body: { fields: [{ field }] } });
    expect((await decide("x".repeat(max))).status).toBe(200);
  });

  test("free text is stored with its line breaks, and may be empty", async () => {
    const api = await open();
    const { rationale } = await api.propose({ rationale: "one\r\ntwo\n" });
    expect(rationale).toBe("one\r\ntwo\n");
    expect((await api.propose({ rationale: "" })).rationale).toBe("");
  });

  test.each(INVISIBLE)("%j is rejected as tenant, summary and name", async (text) => {
    for (const field of ["tenant_id", "summary", "proposer"]) await expectRejected({ [field]: text }, field);
    const api = await open();
    const change_id = await api.bring("pending_consent");
    expect(await api.post("approve", { change_id, approver: text })).toMatchObject({
      status: 400,
      body: { fields: [{ field: "approver" }] },
    });
  });

  test.each(["llm:gpt", "LLM:gpt", "policy:minor", "Policy:Expiry", " llm:x", "ｌｌｍ:x", "policy：guardrail"])(
    "the name %j is reserved",
    async (name) => {
      const api = await open();
      await expectRejected({ proposer: name }, "proposer");
      const change_id = await api.bring("pending_consent");
      for (const action of ["approve", "deny"]) {
        const reply = await api.post(action, { change_id, approver: name });
        expect(reply, action).toMatchObject({ status: 400, body: { fields: [{ field: "approver" }] } });
      }
      expect(await api.post("withdraw", { change_id, proposer: name })).toMatchObject({ status: 400 });
      expect((await api.change(change_id)).status).toBe("pending_consent");
    },
  );

  test.each(["⚠️ seats", "1️⃣", "👩‍💻", "علی‌رضا", "ශ්‍රී"])("%s is accepted as tenant, summary and name", (text) =>
    expectAccepted({ tenant_id: text, summary: text, proposer: text }),
  );

  test("spellings of a tenant that look alike are one tenant", async () => {
    const api = await open();
    for (const tenant_id of ["cafe\u0301", " caf\u00e9", "caf\u00e9\u00a0"])
      await api.propose({ tenant_id, summary: " Cafe\u0301 " });
    const { body } = await api.get("runtime?tenant_id=cafe%CC%81%20");
    expect(body.changes.map((change: Fields) => [change["tenant_id"], change["summary"]])).toEqual(
      Array.from({ length: 3 }, () => ["caf\u00e9", "Caf\u00e9"]),
    );
  });

  const ROUNDED = ["9007199254740993", '{"id":[12345678901234567890]}', "1e-400"];
  test.each(ROUNDED)("the value %s, which would be rounded, is rejected in a form and in JSON", async (value) => {
    const api = await open();
    const rejection = { status: 400, body: { code: "invalid_field", fields: [{ field: "value" }] } };
    expect(await api.post("propose", { ...PROPOSAL, value })).toMatchObject(rejection);
    const inJson = await api.raw("propose", proposalWith("value", value), { "content-type": "application/json" });
    expect(inJson).toMatchObject(rejection);
  });

  test("null counts as absent for every optional field except value", async () => {
    const api = await open();
    const optional = [
      "rationale",
      "expected_delta_k",
      "affected_users",
      "reversible",
      "tier",
      "risk",
      "kpi",
      "proposer",
    ];
    const nulls = Object.fromEntries([...optional, "supersedes", "proof", "at"].map((field) => [field, null]));
    const withNulls = await api.json("propose", { ...PROPOSAL, ...nulls });
    expect([withNulls.status, withNulls.body.digest]).toEqual([201, (await api.propose()).digest]);
    expect((await api.json("propose", { ...PROPOSAL, value: null })).body).toHaveProperty("value", null);
    expect(await api.json("propose", { ...PROPOSAL, unknown: null })).toMatchObject({ status: 400 });
    const proposal = { ...PROPOSAL, ...Object.fromEntries(optional.map((field) => [field, null])) };
    const statement = await api.json("consent-statement", { decision: "propose", approver: "pat", proposal });
    expect(statement.status).toBe(200);
  });

  // Normalisation turns this character into 18 characters.
  test("the length of a name is checked after normalisation", () =>
    expectRejected({ proposer: "\ufdfa".repeat(200) }, "proposer"));

  test("names are stored trimmed and normalised", async () => {
    const api = await open();
    const { change_id, proposer } = await api.propose({ proposer: "  Ｐat\u00a0" });
    expect(proposer).toBe("Pat");
    const { body } = await api.post("approve", { change_id, approver: " ana@acme.example ", note: "go" });
    expect(body.change).toMatchObject({ approver: "ana@acme.example", approval_note: "go" });
  });

  test.each([
    [0, "low"],
    [100, "low"],
    [101, "medium"],
    [10_000, "medium"],
    [10_001, "high"],
  ])("a follow-up of %i users is a reversible workflow of %s risk", async (affected_users, risk) => {
    const { body, status } = await (await open()).post("propose-crm-followup", { ...FOLLOWUP, affected_users });
    expect(status).toBe(201);
    expect(body).toMatchObject({ kind: "workflow", target: "crm.followup", reversible: true, risk, affected_users });
  });

  test("a created change has the requested fields and defaults for all others", async () => {
    const api = await open();
    const { audit_entry, conflicts, missing, digest, ...change } = await api.propose();
    expect(change).toEqual({
      ...PROPOSAL,
      change_id: expect.stringMatching(/^chg_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      rationale: "",
      expected_delta_k: null,
      affected_users: null,
      reversible: true,
      tier: "standard",
      risk: "medium",
      unstated: ["risk", "reversible", "affected_users"],
      sets_nothing: true,
      kpi: null,
      proposer: null,
      proposer_kind: "unknown",
      status: "pending_consent",
      resolution: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      approver: null,
      approval_note: null,
      approvals: [],
      required_approvers: 1,
      decided_at: null,
      applied_at: null,
      rolled_back_at: null,
      revision: 1,
    });
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(conflicts).toEqual([]);
    expect(missing).toEqual([{ rule: "required_approvers", count: 1, of: [] }]);
    expect(audit_entry).toMatchObject({ event_type: "change_proposed", change_id: change.change_id, tenant: "t1" });
  });
}
