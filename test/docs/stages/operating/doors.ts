/** Rules for any proxy in front of the service. */
import { expect } from "vitest";
import { ask, type Door, open, type Question, type Reply } from "./ask.ts";
import { ANA, NOBODY } from "./log_in.ts";

/** The secrets of the service, as a client would guess or hold them. */
export interface Secrets {
  admin: string;
  read: string;
}

const PEOPLE = "gov.acme.example";
const PROGRAMS = "api.gov.acme.example";

/** Somebody else's name, in every spelling that a header may have. */
const FORGED = { "X-Auth-Request-Email": "eve@acme.example", x_auth_request_email: "eve@acme.example" };

const PROPOSAL = { tenant_id: "t1", kind: "config", target: "price.list", value: "49", summary: "Raise the price" };

/** Holds a proxy to all of it. */
export async function checkDoors(door: Door, { admin, read }: Secrets): Promise<void> {
  const asPerson = (question: Omit<Question, "name">, cookie?: string): Promise<Reply> =>
    ask(door, { name: PEOPLE, ...question, headers: { ...(cookie && { cookie }), ...question.headers } });
  const asProgram = (question: Omit<Question, "name">): Promise<Reply> => ask(door, { name: PROGRAMS, ...question });

  // Who is not logged in is led to the log-in by the page, and refused everywhere else, whatever they claim.
  const page = await asPerson({ path: "/" });
  expect([page.status, page.headers.location]).toEqual([302, expect.stringMatching(/\/oauth2\/start\?rd=https:/)]);
  for (const path of ["/api/whoami", "/api/product/approvals", "/app.js"])
    expect((await asPerson({ path, headers: { ...FORGED, "x-svc-admin-token": admin } })).status).toBe(401);

  // Who is logged in is who the log-in says, whatever they claim.
  const ana = { name: "ana@acme.example", authenticated: "proxy" };
  for (const headers of [{}, FORGED])
    expect((await asPerson({ path: "/api/whoami", headers }, ANA)).json).toMatchObject(ana);
  expect((await asPerson({ path: "/" }, ANA)).text).toContain("<title>Countersign</title>");
  const nobody = await asPerson({ path: "/api/whoami", headers: FORGED }, NOBODY);
  expect(nobody.json).toMatchObject({ name: null });
  const byNobody = await asPerson({ path: "/api/product/propose", form: PROPOSAL, headers: FORGED }, NOBODY);
  expect([byNobody.status, byNobody.json.code]).toEqual([403, "person_required"]);

  // A write is theirs; a page of another site writes nothing; an old browser's Origin fits the name that is passed on.
  const origin = { origin: `https://${PEOPLE}` };
  const proposed = await asPerson({ path: "/api/product/propose", form: PROPOSAL, headers: origin }, ANA);
  expect(proposed.json).toMatchObject({ proposer: ana.name, proposer_kind: "person", status: "pending_consent" });
  for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }]) {
    const crossed = await asPerson({ path: "/api/product/propose", form: PROPOSAL, headers }, ANA);
    expect([crossed.status, crossed.json.code]).toEqual([403, "cross_site"]);
  }

  // Programs come with a secret of their own, and are never anybody.
  expect((await asProgram({ path: "/api/state", headers: FORGED })).status).toBe(401);
  expect((await asProgram({ path: "/api/state", headers: { cookie: ANA } })).status).toBe(401);
  const reading = { authorization: `Bearer ${read}` };
  expect((await asProgram({ path: "/api/state", headers: reading })).status).toBe(200);
  expect((await asProgram({ path: "/api/chat", form: { message: "hello" }, headers: reading })).status).toBe(401);
  const claimed = await asProgram({
    path: "/api/product/propose",
    form: { ...PROPOSAL, proposer: "eve@acme.example" },
    headers: { ...FORGED, "x-svc-admin-token": admin },
  });
  expect([claimed.status, claimed.json.code]).toEqual([403, "person_required"]);

  await checkStream(door, { name: PEOPLE, path: "/api/events", headers: { cookie: ANA } }, () =>
    asPerson({ path: "/api/product/propose", form: PROPOSAL }, ANA),
  );
  await checkStream(door, { name: PROGRAMS, path: "/api/events", headers: reading }, () =>
    asPerson({ path: "/api/product/propose", form: PROPOSAL }, ANA),
  );
}

/** The stream begins at once, and tells of a change while it is open; one that is held back never does, and time is over. */
export async function checkStream(door: Door, question: Question, propose: () => Promise<Reply>): Promise<void> {
  const stream = await open(door, question);
  expect(stream.headers["content-type"]).toMatch(/^text\/event-stream/);
  const pieces = stream.setEncoding("utf8")[Symbol.asyncIterator]();
  let text = (await pieces.next()).value as string;
  expect(text).toMatch(/^retry: /);
  const { json } = await propose();
  expect(json).toMatchObject({ change_id: expect.any(String) });
  const { change_id } = json;
  while (!text.includes(change_id)) {
    const { value, done } = await pieces.next();
    if (done) throw new Error(`the stream ended without ${change_id}:\n${text}`);
    text += value;
  }
  stream.destroy();
}
