/** The order in which errors are reported, and the general errors. */
import { expect, test } from "vitest";
import { PROPOSAL } from "../../support/client.ts";
import { form, raw } from "../../support/requests.ts";
import type { ContractOptions, Open } from "../http_contract.ts";

const TOKEN = "correct horse battery staple";
const UNKNOWN = "chg_none";
const CROSS_SITE = { "sec-fetch-site": "cross-site" };
const AUTHORISED = { "x-svc-admin-token": TOKEN };
const XML = { "content-type": "application/xml" };
const STALE = { "if-match": '"99"' };
const WITHOUT_PRODUCT: ContractOptions = { intent: null, adminToken: TOKEN };
const WITH_PRODUCT: ContractOptions = { adminToken: TOKEN, intent: { policy: { approvers: ["ana"] } } };

/** Requests in the order of checks: each has its own fault and all faults of later checks. */
const ORDER: [code: string, status: number, options: ContractOptions, request: (origin: string) => Request][] = [
  ["not_found", 404, WITHOUT_PRODUCT, (origin) => raw("/api/product/aprove", "{", { ...CROSS_SITE, ...XML }, origin)],
  [
    "method_not_allowed",
    405,
    WITHOUT_PRODUCT,
    (origin) =>
      new Request(`${origin}/api/product/approve`, { method: "PUT", body: "{", headers: { ...CROSS_SITE, ...XML } }),
  ],
  [
    "product_runtime_disabled",
    503,
    WITHOUT_PRODUCT,
    (origin) => raw("approve", "{", { ...CROSS_SITE, ...XML }, origin),
  ],
  ["cross_site", 403, WITH_PRODUCT, (origin) => raw("approve", "{", { ...CROSS_SITE, ...XML }, origin)],
  ["unauthorized", 401, WITH_PRODUCT, (origin) => raw("approve", "{", XML, origin)],
  ["unsupported_media_type", 415, WITH_PRODUCT, (origin) => raw("approve", "{", { ...AUTHORISED, ...XML }, origin)],
  [
    "invalid_field",
    400,
    WITH_PRODUCT,
    (origin) => form("approve", { change_id: UNKNOWN }, { ...AUTHORISED, ...STALE }, origin),
  ],
  [
    "change_not_found",
    404,
    WITH_PRODUCT,
    (origin) => form("approve", { change_id: UNKNOWN, approver: "eve" }, { ...AUTHORISED, ...STALE }, origin),
  ],
];

export function errorRules(open: Open): void {
  test.each(ORDER)("%s (%i) is reported before the faults of later checks", async (code, status, options, request) => {
    const api = await open(options);
    expect(await api.send(request(api.origin))).toMatchObject({ status, body: { code, status } });
  });

  test.each([
    ["approved", "deny", { approver: "eve" }, "illegal_transition", 400],
    ["pending_consent", "approve", { approver: "eve" }, "not_an_approver", 403],
    ["pending_consent", "approve", { approver: "ana" }, "version_mismatch", 412],
  ] as const)(
    "for a change that is %s, %s with %o and another revision is %s",
    async (status, action, fields, code, expected) => {
      const { adminToken: _, ...options } = WITH_PRODUCT;
      const api = await open(options);
      const change_id = await api.bring(status);
      const rejected = await api.post(action, { change_id, ...fields }, STALE);
      expect(rejected).toMatchObject({ status: expected, body: { code } });
    },
  );

  test.each(["/api/state", "/api/capabilities", "/livez", "/readyz"])("%s answers without an intent", async (path) => {
    expect((await (await open({ intent: null })).get(path)).status).toBe(200);
  });

  test("any other method gets 405 with Allow", async () => {
    const api = await open();
    for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"]) {
      const rejected = await api.send(new Request(`${api.origin}/api/product/approve`, { method }));
      expect([rejected.status, rejected.headers.get("allow")], method).toEqual([405, "POST"]);
    }
  });

  test.each(["/", "/api", "/api/product", "/api/product/changes/", "/api/product/changes/%zz", "/api/product/Approve"])(
    "%s is not found",
    async (path) => {
      expect(await (await open()).get(path)).toMatchObject({ status: 404, body: { code: "not_found" } });
    },
  );

  test("a request id is generated, or taken from the request if it is well-formed", async () => {
    const api = await open();
    const readRequestId = async (sent?: string) => {
      const { headers } = await api.get("/livez", sent === undefined ? {} : { "x-request-id": sent });
      return headers.get("x-request-id");
    };
    expect(await readRequestId("req-7.a_B")).toBe("req-7.a_B");
    expect(await readRequestId("x".repeat(100))).toBe("x".repeat(100));
    for (const malformed of ["", "a b", "<script>", "x".repeat(101)])
      expect(await readRequestId(malformed)).not.toBe(malformed);
    expect(await readRequestId()).not.toBe(await readRequestId());
  });

  test("a write with a field in its query is rejected", async () => {
    const api = await open();
    const change_id = await api.bring("approved");
    expect(await api.post("apply?dry_run=1", { change_id })).toMatchObject({
      status: 400,
      body: { code: "invalid_field", fields: [{ field: "dry_run" }] },
    });
    expect((await api.change(change_id)).status).toBe("approved");
  });

  test("an apply with an unknown field is rejected and applies nothing", async () => {
    const api = await open();
    const change_id = await api.bring("approved");
    expect(await api.post("apply", { change_id, dryrun: 1 })).toMatchObject({ status: 400 });
    expect((await api.change(change_id)).status).toBe("approved");
  });

  test("all invalid fields are reported together", async () => {
    const api = await open();
    const rejected = await api.post("propose", { ...PROPOSAL, kind: "x", target: "-", reversible: "maybe" });
    expect(rejected.body.fields.map(({ field }: { field: string }) => field).sort()).toEqual([
      "kind",
      "reversible",
      "target",
    ]);
  });
}
