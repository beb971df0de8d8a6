/** The checks that every proxy in front of the service must pass. */
import { expect } from "vitest";
import { openResponse, type ProxyAddress, type ProxyRequest, type Reply, sendRequest } from "./proxy_request.ts";
import { ANA, WITHOUT_EMAIL } from "./log_in.ts";

/** The secrets of the service that a client may send. */
export interface Secrets {
  admin: string;
  read: string;
}

/** The host names for people and for programs. */
const PEOPLE = "gov.acme.example";
const PROGRAMS = "api.gov.acme.example";

/** Headers that claim another name, in both spellings that a proxy may pass on. */
const FORGED = { "X-Auth-Request-Email": "eve@acme.example", x_auth_request_email: "eve@acme.example" };

const PROPOSAL = { tenant_id: "t1", kind: "config", target: "price.list", value: "49", summary: "Raise the price" };

/** Requires that a proxy passes all checks. */
export async function checkProxy(proxy: ProxyAddress, { admin, read }: Secrets): Promise<void> {
  const asPerson = (proxyRequest: Omit<ProxyRequest, "name">, cookie?: string): Promise<Reply> =>
    sendRequest(proxy, {
      name: PEOPLE,
      ...proxyRequest,
      headers: { ...(cookie && { cookie }), ...proxyRequest.headers },
    });
  const asProgram = (proxyRequest: Omit<ProxyRequest, "name">): Promise<Reply> =>
    sendRequest(proxy, { name: PROGRAMS, ...proxyRequest });

  // Without a log-in the page redirects to the log-in, and all other paths are rejected, whatever the headers claim.
  const page = await asPerson({ path: "/" });
  expect([page.status, page.headers.location]).toEqual([302, expect.stringMatching(/\/oauth2\/start\?rd=https:/)]);
  for (const path of ["/api/whoami", "/api/product/approvals", "/app.js"])
    expect((await asPerson({ path, headers: { ...FORGED, "x-svc-admin-token": admin } })).status).toBe(401);

  // After a log-in the name is that of the log-in, whatever the headers claim.
  const ana = { name: "ana@acme.example", authenticated: "proxy" };
  for (const headers of [{}, FORGED])
    expect((await asPerson({ path: "/api/whoami", headers }, ANA)).json).toMatchObject(ana);
  expect((await asPerson({ path: "/" }, ANA)).text).toContain("<title>Countersign</title>");
  const withoutEmail = await asPerson({ path: "/api/whoami", headers: FORGED }, WITHOUT_EMAIL);
  expect(withoutEmail.json).toMatchObject({ name: null });
  const proposedWithoutEmail = await asPerson(
    { path: "/api/product/propose", form: PROPOSAL, headers: FORGED },
    WITHOUT_EMAIL,
  );
  expect([proposedWithoutEmail.status, proposedWithoutEmail.json.code]).toEqual([403, "person_required"]);

  // A write has the name of the log-in, also with an Origin header. Writes from another site are rejected.
  const origin = { origin: `https://${PEOPLE}` };
  const proposed = await asPerson({ path: "/api/product/propose", form: PROPOSAL, headers: origin }, ANA);
  expect(proposed.json).toMatchObject({ proposer: ana.name, proposer_kind: "person", status: "pending_consent" });
  for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }]) {
    const crossSite = await asPerson({ path: "/api/product/propose", form: PROPOSAL, headers }, ANA);
    expect([crossSite.status, crossSite.json.code]).toEqual([403, "cross_site"]);
  }

  // Programs need their own secret, and never act as a person.
  expect((await asProgram({ path: "/api/state", headers: FORGED })).status).toBe(401);
  expect((await asProgram({ path: "/api/state", headers: { cookie: ANA } })).status).toBe(401);
  const readHeaders = { authorization: `Bearer ${read}` };
  expect((await asProgram({ path: "/api/state", headers: readHeaders })).status).toBe(200);
  expect((await asProgram({ path: "/api/chat", form: { message: "hello" }, headers: readHeaders })).status).toBe(401);
  const withPersonName = await asProgram({
    path: "/api/product/propose",
    form: { ...PROPOSAL, proposer: "eve@acme.example" },
    headers: { ...FORGED, "x-svc-admin-token": admin },
  });
  expect([withPersonName.status, withPersonName.json.code]).toEqual([403, "person_required"]);

  await checkStream(proxy, { name: PEOPLE, path: "/api/events", headers: { cookie: ANA } }, () =>
    asPerson({ path: "/api/product/propose", form: PROPOSAL }, ANA),
  );
  await checkStream(proxy, { name: PROGRAMS, path: "/api/events", headers: readHeaders }, () =>
    asPerson({ path: "/api/product/propose", form: PROPOSAL }, ANA),
  );
}

/** Requires that the event stream begins immediately and reports a proposal while it is open; a buffered stream times out. */
export async function checkStream(
  proxy: ProxyAddress,
  proxyRequest: ProxyRequest,
  propose: () => Promise<Reply>,
): Promise<void> {
  const stream = await openResponse(proxy, proxyRequest);
  expect(stream.headers["content-type"]).toMatch(/^text\/event-stream/);
  const chunks = stream.setEncoding("utf8")[Symbol.asyncIterator]();
  let text = (await chunks.next()).value as string;
  expect(text).toMatch(/^retry: /);
  const { json } = await propose();
  expect(json).toMatchObject({ change_id: expect.any(String) });
  const { change_id } = json;
  while (!text.includes(change_id)) {
    const { value, done } = await chunks.next();
    if (done) throw new Error(`the stream ended without ${change_id}:\n${text}`);
    text += value;
  }
  stream.destroy();
}
