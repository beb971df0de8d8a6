/** Permission to write: the admin token, the site of the request, and the person whom a proxy names. */
import { expect, test } from "vitest";
import { FOLLOWUP, PROPOSAL } from "../../support/client.ts";
import type { Open } from "../http_contract.ts";

/** Returns the UTF-8 bytes of a text as a header value, one character for each byte. */
const toHeaderValue = (text: string): string => Buffer.from(text).toString("latin1");

const TOKEN = "correct horse battery staple";
export function accessRules(open: Open): void {
  test("a missing token and a wrong one get the same response", async () => {
    const api = await open({ adminToken: TOKEN });
    const send = (headers: HeadersInit) => api.post("kpi", { csat: 1 }, { "x-request-id": "same", ...headers });
    const missing = await send({});
    const wrong = await send({ "x-svc-admin-token": "wrong" });
    expect([missing.status, missing.body.code]).toEqual([401, "unauthorized"]);
    expect([wrong.status, wrong.text]).toEqual([401, missing.text]);
    expect(missing.headers.get("www-authenticate")).toBe(wrong.headers.get("www-authenticate"));
    for (const similar of [TOKEN.slice(0, 7), `${TOKEN}!`, TOKEN.toUpperCase()])
      expect((await send({ "x-svc-admin-token": similar })).text).toBe(missing.text);
  });

  test("with the token, changes and KPI feeds are accepted", async () => {
    const api = await open({ adminToken: TOKEN });
    const headers = { "X-SVC-Admin-Token": TOKEN };
    const { body } = await api.post("propose-crm-followup", FOLLOWUP, headers);
    for (const action of ["approve", "apply", "rollback"] as const)
      expect((await api.act(action, body.change_id, headers)).status).toBe(200);
    expect((await api.post("kpi", { csat: 1 }, headers)).status).toBe(200);
  });

  test("without a configured token, writes are accepted with any header or none", async () => {
    const api = await open();
    expect((await api.post("kpi", { csat: 1 })).status).toBe(200);
    expect((await api.post("kpi", { csat: 1 }, { "x-svc-admin-token": "anything" })).status).toBe(200);
  });

  test("an empty configured token counts as none", async () => {
    expect((await (await open({ adminToken: "" })).post("kpi", { csat: 1 })).status).toBe(200);
  });

  test.each([
    [{}, 200],
    [{ "sec-fetch-site": "same-origin" }, 200],
    [{ "sec-fetch-site": "none" }, 200],
    [{ "sec-fetch-site": "same-origin", origin: "https://evil.example" }, 200],
    [{ "sec-fetch-site": "same-site" }, 403],
    [{ "sec-fetch-site": "cross-site" }, 403],
    [{ "sec-fetch-site": "cross-site", origin: "SELF" }, 403],
    [{ "sec-fetch-site": "" }, 403],
    [{ origin: "SELF" }, 200],
    [{ origin: "SELF-UPPER" }, 200],
    [{ origin: "https://evil.example" }, 403],
    [{ origin: "null" }, 403],
    [{ origin: "nonsense" }, 403],
    [{ origin: "http://127.0.0.1:1" }, 403],
    [{ origin: "https://console.example" }, 200],
    [{ origin: "https://console.example:8443" }, 200],
    [{ origin: "https://CONSOLE.example" }, 200],
    [{ origin: "https://console.example.evil.example" }, 403],
    [{ origin: "https://evil-console.example" }, 403],
  ] as [Record<string, string>, number][])("a write with %o: %i", async (headers, status) => {
    const api = await open({ allowedHosts: ["console.example"] });
    const sentHeaders = { ...headers };
    if (sentHeaders["origin"] === "SELF") sentHeaders["origin"] = api.origin;
    if (sentHeaders["origin"] === "SELF-UPPER") sentHeaders["origin"] = api.origin.toUpperCase();
    const reply = await api.post("kpi", { csat: 1 }, sentHeaders);
    expect(reply.status).toBe(status);
    if (status === 403) expect(reply.body.code).toBe("cross_site");
    expect(await api.steps()).toHaveLength(status === 200 ? 1 : 0);
  });

  const PERSON = "x-person";
  test.each([
    ["ana", "ana", 200],
    ["Ana", " ANA ", 200],
    ["ana", "bo", 403, "identity_mismatch"],
    ["ana", "", 403, "person_required"],
    ["ana", " ", 403, "person_required"],
    ["ana", undefined, 403, "person_required"],
  ])("with a trusted proxy, approver %j for the person %j: %i", async (approver, person, status, code?: string) => {
    const api = await open({ identityHeader: PERSON });
    const { change_id } = (await api.post("propose", PROPOSAL, { [PERSON]: "pat" })).body;
    const headers = person === undefined ? {} : { [PERSON]: person };
    const reply = await api.post("approve", { change_id, approver }, headers);
    expect(reply.status).toBe(status);
    if (code) expect(reply.body.code).toBe(code);
    const { status: changeStatus } = await api.change(change_id);
    expect(changeStatus).toBe(status === 200 ? "approved" : "pending_consent");
  });

  test("with a trusted proxy, proposals and steps of a change need a person, a KPI feed does not", async () => {
    const api = await open({ identityHeader: PERSON });
    const { change_id } = (await api.post("propose", PROPOSAL, { [PERSON]: "pat" })).body;
    const before = await api.steps();
    for (const path of ["propose", "propose-crm-followup", "approve", "deny", "withdraw", "apply", "rollback"])
      expect(await api.post(path, { change_id }), path).toMatchObject({
        status: 403,
        body: { code: "person_required" },
      });
    expect(await api.steps()).toEqual(before);
    expect((await api.post("kpi", { csat: 4 })).status).toBe(200);
  });

  test("with a trusted proxy, the approver can be left out of the request", async () => {
    const api = await open({ identityHeader: PERSON });
    const propose = async () => (await api.post("propose", PROPOSAL, { [PERSON]: "pat" })).body.change_id;
    const [first, second, third] = [await propose(), await propose(), await propose()];
    const approved = await api.post("approve", { change_id: first }, { [PERSON]: "ana" });
    expect(approved.body.approvals).toMatchObject([{ approver: "ana" }]);
    expect((await api.post("deny", { change_id: second }, { [PERSON]: "bo" })).body.change.approver).toBe("bo");
    expect((await api.post("withdraw", { change_id: third }, { [PERSON]: "pat" })).status).toBe(200);
    for (const approver of ["", null])
      expect((await api.json("approve", { change_id: first, approver }, { [PERSON]: "ana" })).status).toBe(400);
  });

  test("with a trusted proxy the proposer is the person it names", async () => {
    const api = await open({ identityHeader: PERSON });
    const propose = (fields: object, person: string) =>
      api.post("propose", { ...PROPOSAL, ...fields }, { [PERSON]: person });
    expect((await propose({}, " pat ")).body.proposer).toBe("pat");
    expect((await propose({ proposer: "Pat" }, "pat")).body.proposer).toBe("Pat");
    expect(await propose({ proposer: "bo" }, "pat")).toMatchObject({
      status: 403,
      body: { code: "identity_mismatch" },
    });
    const { change_id } = (await propose({}, "pat")).body;
    for (const action of ["deny", "withdraw"] as const)
      expect((await api.act(action, change_id, { [PERSON]: "eve" })).body.code).toBe("identity_mismatch");
    expect((await api.act("withdraw", change_id, { [PERSON]: "pat" })).status).toBe(200);
  });

  test("the identity header is read as UTF-8 on every host", async () => {
    const api = await open({ identityHeader: PERSON, intent: { policy: { approvers: ["josé", "日本"] } } });
    const { change_id, proposer } = (await api.post("propose", PROPOSAL, { [PERSON]: toHeaderValue("Zoë 💡") })).body;
    expect(proposer).toBe("Zoë 💡");
    const approved = await api.post("approve", { change_id }, { [PERSON]: toHeaderValue("josé") });
    expect(approved.body.approvals).toMatchObject([{ approver: "josé" }]);
    const second = (await api.post("propose", PROPOSAL, { [PERSON]: toHeaderValue("日本") })).body;
    expect(second.proposer).toBe("日本");
  });

  test.each([
    ["that is not UTF-8", "jos\xe9"],
    ["with an overlong form", "jos\xc1\xa9"],
    ["with U+FFFD", toHeaderValue("jos\ufffd")],
    ["with a comma", "ana, bo"],
    ["with a comma in full width", toHeaderValue("ana，bo")],
    ["with a soft hyphen", toHeaderValue("a\u00adna")],
    ["with a zero-width space at its end", toHeaderValue("ana\u200b")],
    ["of 201 characters", "a".repeat(201)],
    // The colon of the last prefix is in full width.
    ...["llm:", "Policy:", "mandate:", "idp:", "group:", "agent:", "peer:", "agent："].map(
      (prefix): [string, string] => [`that begins with ${prefix}`, toHeaderValue(`${prefix}x`)],
    ),
  ])("an identity header %s is 400 invalid_identity", async (_, value) => {
    const api = await open({ identityHeader: PERSON });
    const headers = { [PERSON]: value };
    const rejected = { status: 400, body: { code: "invalid_identity" } };
    expect(await api.post("propose", PROPOSAL, headers)).toMatchObject(rejected);
    expect(await api.get("audit", headers)).toMatchObject(rejected);
    expect((await api.get("/livez", headers)).status).toBe(200);
    expect((await api.get("/readyz", headers)).status).toBe(200);
    expect((await api.get("/api/whoami", headers)).body).toMatchObject({ name: null, kind: "unknown", may: [] });
    expect(await api.steps()).toEqual([]);
  });

  test("without a configured identity header, such a header is ignored", async () => {
    const api = await open();
    const { body } = await api.post("propose", PROPOSAL, { [PERSON]: "pat" });
    expect(body.proposer).toBeNull();
    expect((await api.act("approve", body.change_id, { [PERSON]: "eve" })).status).toBe(200);
  });
}
