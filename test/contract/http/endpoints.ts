/** Rules of every endpoint: methods, tokens, requests of other sites, and a service without an intent. */
import { expect, test } from "vitest";
import { endpoints } from "../../../handlers/index.ts";
import { isWrite } from "../../../lib/http/admission.ts";
import { PROPOSAL } from "../../support/client.ts";
import { GET_PATHS } from "../../support/get_paths.ts";
import { json } from "../../support/requests.ts";
import type { Open } from "../http_contract.ts";

const TOKEN = "correct horse battery staple";
const UNKNOWN = "chg_none";

const product = endpoints.filter(({ product }) => product);
const WRITES = product.filter(isWrite).map(({ path }) => path);
/** Writes that check the token before the fields; requests of CI jobs and GitHub are authenticated by their content. */
const TOKEN_FIRST = WRITES.filter((path) => !path.startsWith("/api/gate"));
const POSTED_READS = product
  .filter((endpoint) => endpoint.method === "POST" && !isWrite(endpoint))
  .map(({ path }) => path);
const FLAGS = POSTED_READS.filter((path) => path.startsWith("/ofrep/"));
const POSTS = endpoints.filter(({ method }) => method === "POST").map(({ path }) => path);
/** POST endpoints whose bodies other protocols define. */
const OTHER_PROTOCOLS = [...POSTED_READS, "/add-checkpoint", "/api/gate/github"];
const WITH_FIELDS = WRITES.filter((path) => !OTHER_PROTOCOLS.includes(path));
/** Endpoints that accept unknown query parameters: the probes and `whoami`. */
const ANY_QUERY = ["/livez", "/readyz", "/api/whoami"];
const fillPath = (path: string): string => path.replace(/:[a-z_]+/, UNKNOWN);
// In the paths of `GET_PATHS`, CHANGE stands for the id of a change, and FILE for the name of a missing file.

/** The methods of each path, in alphabetical order. */
const METHODS = new Map<string, string[]>();
for (const { method, path } of endpoints)
  METHODS.set(path, [...(METHODS.get(path) ?? []), ...(method === "GET" ? ["GET", "HEAD"] : [method])].sort());

const WRONG_TOKENS = ["", "wrong", TOKEN.slice(0, -1), `${TOKEN}x`, TOKEN.toUpperCase(), TOKEN.repeat(2)];

export function endpointRules(open: Open): void {
  test("every POST of the product runtime is a write, except those of other protocols", () => {
    expect(POSTED_READS.toSorted()).toEqual(["/mcp", "/ofrep/v1/evaluate/flags", "/ofrep/v1/evaluate/flags/:key"]);
    expect(WRITES.map((path) => path.replace("/api/product/", "")).sort()).toEqual([
      "/api/gate",
      "/api/gate/github",
      "apply",
      "approve",
      "audit/accept-clock",
      "audit/accept-loss",
      "consent-statement",
      "deny",
      "erase",
      "freeze",
      "kpi",
      "mandate-narrow",
      "mandate-resume",
      "mandate-revoke",
      "mandate-sign",
      "mandates",
      "note",
      "propose",
      "propose-crm-followup",
      "restore",
      "review",
      "revoke",
      "rollback",
      "samples",
      "stage",
      "unfreeze",
      "withdraw",
    ]);
  });

  test.each(product.map(({ method, path }) => [method, path]))(
    "%s %s without an intent gets 503",
    async (method, path) => {
      const api = await open({ intent: null });
      const { status, body } = await (method === "GET" ? api.get(fillPath(path!)) : api.post(fillPath(path!)));
      expect(status).toBe(503);
      expect(body.code ?? body.errorCode).toBe(FLAGS.includes(path!) ? "GENERAL" : "product_runtime_disabled");
      expect(body.error ?? body.errorDetails).toBe(
        "product runtime disabled; start the service with --product-intent PATH",
      );
    },
  );

  test.each([...METHODS])("any other method at %s gets 405 with Allow", async (path, allowed) => {
    const api = await open();
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]) {
      if (allowed.includes(method)) continue;
      const rejected = await api.send(new Request(api.origin + fillPath(path), { method }));
      expect(rejected.status, method).toBe(405);
      expect(rejected.headers.get("allow")?.split(", ").sort()).toEqual(allowed);
      if (method !== "HEAD") expect(rejected.body.code).toBe("method_not_allowed");
    }
  });

  test.each(WITH_FIELDS)("%s rejects an unknown field, and the error has its name", async (path) => {
    const api = await open();
    const rejected = await api.send(json(path, { dryrun: 1 }, {}, api.origin));
    expect(rejected).toMatchObject({ status: 400, body: { code: "invalid_field" } });
    const message = expect.stringMatching(/^is not a field of this request: did you mean \w+\?$/);
    expect(rejected.body.fields).toContainEqual({ field: "dryrun", message });
    expect(rejected.body.error).toContain("dryrun");
  });

  test.each(TOKEN_FIRST)("at %s missing and wrong tokens get the same response", async (path) => {
    const api = await open({ adminToken: TOKEN });
    const send = (token?: string) =>
      api.post(path, {}, { "x-request-id": "same", ...(token === undefined ? {} : { "x-svc-admin-token": token }) });
    const missing = await send();
    expect(missing).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect(missing.headers.get("www-authenticate")).toMatch(/^[A-Za-z]+/);
    for (const token of WRONG_TOKENS) {
      const wrong = await send(token);
      expect([wrong.status, wrong.text, wrong.headers.get("www-authenticate")]).toEqual([
        401,
        missing.text,
        missing.headers.get("www-authenticate"),
      ]);
    }
    expect((await send(TOKEN)).body?.code).toBe("invalid_field");
    expect(await api.audit()).toEqual([]);
  });

  test.each(GET_PATHS)("%s is readable without a token, also from other sites", async (path) => {
    const api = await open({ adminToken: TOKEN });
    const { body } = await api.post("propose", PROPOSAL, { "x-svc-admin-token": TOKEN });
    const headers = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
    const { status } = await api.get(path.replace("CHANGE", body.change_id), headers);
    expect(status).toBe(path.includes("FILE") ? 404 : 200);
  });

  test.each(GET_PATHS)("an unknown query parameter of %s gets 400 with its name, except for probes", async (path) => {
    const api = await open();
    const { status, body } = await api.get(`${path}${path.includes("?") ? "&" : "?"}limt=1`);
    if (ANY_QUERY.includes(path)) return expect(status).toBe(200);
    expect([status, body.code, body.fields[0].field]).toEqual([400, "invalid_field", "limt"]);
    expect(body.error).toMatch(/^limt is not a field of this request(: did you mean \w+\?|, which has none)$/);
  });

  test.each(POSTS)("a query parameter or an unknown field of %s gets 400 with its name", async (path) => {
    const api = await open();
    const inQuery = await api.send(json(`${fillPath(path)}?dryrun=1`, {}, {}, api.origin));
    expect(inQuery.status).toBe(400);
    expect(inQuery.text).toContain("dryrun");
    if (OTHER_PROTOCOLS.includes(path)) return;
    const { status, body } = await api.send(json(path, { dryrun: 1 }, {}, api.origin));
    expect([status, body.code, body.fields.map(({ field }: { field: string }) => field)]).toEqual([
      400,
      "invalid_field",
      expect.arrayContaining(["dryrun"]),
    ]);
  });

  test("the tenant filter is tenant_id everywhere, and also tenant in older endpoints", async () => {
    const api = await open();
    await api.propose();
    await api.propose({ tenant_id: "t2", target: "ui.other" });
    for (const path of ["audit?tenant_id=t2", "audit?tenant=t2"])
      expect((await api.get(path)).body.entries).toMatchObject([{ tenant: "t2" }]);
    expect(await api.get("audit?tenant_id=t2&tenant=t1")).toMatchObject({
      status: 400,
      body: { fields: [{ field: "tenant" }] },
    });
    expect((await api.get("values?tenant=t1")).body.error).toBe(
      "tenant is not a field of this request: did you mean tenant_id?",
    );
  });

  test.each(WRITES)("%s rejects requests of pages of another site", async (path) => {
    const reply = await (await open()).post(path, {}, { "sec-fetch-site": "cross-site" });
    expect(reply).toMatchObject({ status: 403, body: { code: "cross_site" } });
  });

  test.each(POSTED_READS)("%s, a read by POST, rejects requests of pages of another site too", async (path) => {
    const reply = await (await open()).post(fillPath(path), {}, { "sec-fetch-site": "cross-site" });
    expect(reply.status).toBe(403);
    // OpenFeature defines no body for this status.
    expect(reply.text === "").toBe(FLAGS.includes(path));
  });

  test.each(GET_PATHS)("HEAD %s has the status and headers of GET, without a body", async (path) => {
    const api = await open();
    const filledPath = path.replace("CHANGE", await api.bring("applied"));
    const headers = { "x-request-id": "same" };
    const getReply = await api.get(filledPath, headers);
    const headReply = await api.send(new Request(api.origin + filledPath, { method: "HEAD", headers }));
    expect([headReply.status, headReply.text]).toEqual([getReply.status, ""]);
    for (const name of ["content-type", "etag", "cache-control", "x-request-id"])
      expect(headReply.headers.get(name), name).toBe(getReply.headers.get(name));
  });
}
