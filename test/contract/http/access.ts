/** Who may write: the admin token, the same site, and the person a proxy names. */
import { expect, test } from "vitest";
import { FOLLOWUP, PROPOSAL } from "../../support/client.ts";
import type { Open } from "../http_contract.ts";

const TOKEN = "correct horse battery staple";
export function accessRules(open: Open): void {
  test("a missing token and a wrong one get the same answer", async () => {
    const api = await open({ adminToken: TOKEN });
    const send = (headers: HeadersInit) => api.post("kpi", { csat: 1 }, { "x-request-id": "same", ...headers });
    const missing = await send({});
    const wrong = await send({ "x-svc-admin-token": "wrong" });
    expect([missing.status, missing.body.code]).toEqual([401, "unauthorized"]);
    expect([wrong.status, wrong.text]).toEqual([401, missing.text]);
    expect(missing.headers.get("www-authenticate")).toBe(wrong.headers.get("www-authenticate"));
    for (const near of [TOKEN.slice(0, 7), `${TOKEN}!`, TOKEN.toUpperCase()])
      expect((await send({ "x-svc-admin-token": near })).text).toBe(missing.text);
  });

  test("with the token the specification's flow works", async () => {
    const api = await open({ adminToken: TOKEN });
    const headers = { "X-SVC-Admin-Token": TOKEN };
    const { body } = await api.post("propose-crm-followup", FOLLOWUP, headers);
    for (const action of ["approve", "apply", "rollback"] as const)
      expect((await api.act(action, body.change_id, headers)).status).toBe(200);
    expect((await api.post("kpi", { csat: 1 }, headers)).status).toBe(200);
  });

  test("without a token set, writes pass without the header and with any", async () => {
    const api = await open();
    expect((await api.post("kpi", { csat: 1 })).status).toBe(200);
    expect((await api.post("kpi", { csat: 1 }, { "x-svc-admin-token": "anything" })).status).toBe(200);
  });

  test("an empty token counts as unset", async () => {
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
    const sent = { ...headers };
    if (sent["origin"] === "SELF") sent["origin"] = api.origin;
    if (sent["origin"] === "SELF-UPPER") sent["origin"] = api.origin.toUpperCase();
    const reply = await api.post("kpi", { csat: 1 }, sent);
    expect(reply.status).toBe(status);
    if (status === 403) expect(reply.body.code).toBe("cross_site");
    expect(await api.steps()).toHaveLength(status === 200 ? 1 : 0);
  });

  const PERSON = "x-person";
  test.each([
    ["ana", "ana", 200],
    ["Ana", " ANA ", 200],
    ["ana", "bo", 403],
    ["ana", "", 403],
    ["ana", undefined, 403],
  ])("with a trusted proxy, approver %j for the person %j: %i", async (approver, person, status) => {
    const api = await open({ identityHeader: PERSON });
    const { change_id } = (await api.post("propose", PROPOSAL, { [PERSON]: "pat" })).body;
    const headers = person === undefined ? {} : { [PERSON]: person };
    const reply = await api.post("approve", { change_id, approver }, headers);
    expect(reply.status).toBe(status);
    if (status === 403) expect(reply.body.code).toBe("identity_mismatch");
    const { status: now } = await api.change(change_id);
    expect(now).toBe(status === 200 ? "approved" : "pending_consent");
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

  test("without an identity header configured, the header means nothing", async () => {
    const api = await open();
    const { body } = await api.post("propose", PROPOSAL, { [PERSON]: "pat" });
    expect(body.proposer).toBeNull();
    expect((await api.act("approve", body.change_id, { [PERSON]: "eve" })).status).toBe(200);
  });
}
