/** The OpenFeature Remote Evaluation Protocol: its responses, its errors and its permissions. */
import { describe, expect, test } from "vitest";
import { projectAll } from "../../../lib/projections/projector.ts";
import type { ChangeRecord } from "../../../lib/changes/rules/record.ts";
import { service, type TestService } from "../../support/service.ts";
import type { TestOptions } from "../../support/deps.ts";
import { sha256 } from "../../../local/node_ports.ts";
import { PROPOSAL } from "../../support/client.ts";
import { editableTarget } from "../../support/editable_target.ts";

const FLAGS = "/ofrep/v1/evaluate/flags";
const applyValue = (api: TestService, tenant_id: string, target: string, value: unknown) =>
  api.bring("applied", { tenant_id, target, value: JSON.stringify(value) });
const evaluateOne = (api: TestService, key: string, targetingKey?: string, headers = {}) =>
  api.json(`${FLAGS}/${key}`, { context: targetingKey === undefined ? {} : { targetingKey } }, headers);
const evaluateAll = (api: TestService, targetingKey?: string, headers = {}) =>
  api.json(FLAGS, { context: targetingKey === undefined ? {} : { targetingKey } }, headers);

test("a tenant's own value takes precedence over the value for all tenants", async () => {
  const api = await service();
  const forAllId = await applyValue(api, "*", "ui.banner", "for all");
  const own = await applyValue(api, "t1", "ui.banner", { on: true });
  const { applied_at, digest, audit_entries } = await api.change(own);
  expect(await evaluateOne(api, "ui.banner", "t1")).toMatchObject({
    status: 200,
    body: {
      key: "ui.banner",
      value: { on: true },
      reason: "TARGETING_MATCH",
      metadata: {
        change_id: own,
        applied_at,
        digest,
        entry: audit_entries.at(-1).id,
        kind: "config",
        tenant_id: "t1",
      },
    },
  });
  const valueForAll = {
    body: { value: "for all", reason: "STATIC", metadata: { change_id: forAllId, tenant_id: "*" } },
  };
  for (const key of ["t2", undefined, "", "*", "no\nline", "x".repeat(500)])
    expect(await evaluateOne(api, "ui.banner", key)).toMatchObject(valueForAll);
  expect(await evaluateOne(api, "UI.Banner", "t1")).toMatchObject({ body: { key: "UI.Banner", value: { on: true } } });
  await api.must("rollback", own);
  expect(await evaluateOne(api, "ui.banner", "t1")).toMatchObject(valueForAll);
  await api.must("rollback", forAllId);
  expect(await evaluateOne(api, "ui.banner", "t1")).toMatchObject({
    status: 404,
    body: { key: "ui.banner", errorCode: "FLAG_NOT_FOUND", errorDetails: expect.any(String) },
  });
});

test("the metadata is flat, and the value is any JSON", async () => {
  const api = await service();
  for (const value of [true, 0, "", [1], { a: [null] }]) {
    await applyValue(api, "t1", "any", value);
    const { body } = await evaluateOne(api, "any", "t1");
    expect(body.value).toEqual(value);
    expect(Object.values(body.metadata).every((member) => ["string", "number"].includes(typeof member))).toBe(true);
  }
});

test.each(["a/b", "a%2Fb", "a/b/c", "a%2fb/c", "a:b/c-d_e.f", "a//b"])("a key such as %s is found", async (key) => {
  const api = await service();
  await applyValue(api, "t1", decodeURIComponent(key), key);
  expect(await evaluateOne(api, key, "t1")).toMatchObject({
    status: 200,
    body: { key: decodeURIComponent(key), value: key },
  });
});

test.each(["a b", "%20", "a%0Ab", "-", "x".repeat(300), "a%3Fb=c", "%E2%82%AC"])(
  "a key such as %s, which no target has, is not found",
  async (key) => {
    const api = await service();
    await applyValue(api, "t1", "ui.banner", 1);
    expect(await evaluateOne(api, key, "t1")).toMatchObject({ status: 404, body: { errorCode: "FLAG_NOT_FOUND" } });
  },
);

test("in the bulk response a tenant's own value replaces that for all; unchanged flags are 304", async () => {
  const api = await service();
  await applyValue(api, "*", "b", "for all");
  await applyValue(api, "*", "a", "for all");
  const own = await applyValue(api, "t1", "B", "own");
  await applyValue(api, "t2", "c", "theirs");
  const all = await evaluateAll(api, "t1");
  expect(all.body.flags.map(({ key, value }: { key: string; value: string }) => `${key}=${value}`)).toEqual([
    "B=own",
    "a=for all",
  ]);
  expect((await evaluateAll(api)).body.flags.map(({ key }: { key: string }) => key)).toEqual(["a", "b"]);
  const tag = all.headers.get("etag")!;
  await api.propose();
  const unchanged = await evaluateAll(api, "t1", { "if-none-match": tag });
  expect([unchanged.status, unchanged.text]).toEqual([304, ""]);
  expect((await evaluateAll(api, "t2", { "if-none-match": tag })).status).toBe(200);
  await api.must("rollback", own);
  const afterRollback = await evaluateAll(api, "t1", { "if-none-match": tag });
  expect([afterRollback.status, afterRollback.body.flags[1]]).toEqual([
    200,
    expect.objectContaining({ key: "b", value: "for all" }),
  ]);
});

test("too many flags for a bulk response are rejected; single requests still succeed", async () => {
  const api = await service();
  // 18 values of 60,000 characters are more than a mebibyte.
  for (let flag = 0; flag < 18; flag++) await applyValue(api, "t1", `f${flag}`, "x".repeat(60_000));
  expect(await evaluateAll(api, "t1")).toMatchObject({ status: 400, body: { errorCode: "GENERAL" } });
  expect((await evaluateOne(api, "f3", "t1")).status).toBe(200);
});

test("a withheld value is an error of that flag only, also where there is a value for all", async () => {
  const api = await service();
  await applyValue(api, "*", "a", "for all");
  const own = await applyValue(api, "t1", "a", "own");
  await applyValue(api, "t1", "b", "whole");
  await projectAll(api.deps);
  // A value that differs from the audit entries is withheld.
  await api.deps.store.transact(async (tx) => {
    const record = (await tx.get("changes", own))!.value as ChangeRecord;
    tx.put("changes", own, { ...record, change: { ...record.change, value: "evil" } });
  });
  const failed = { key: "a", errorCode: "GENERAL", errorDetails: expect.stringContaining("withheld") };
  expect(await evaluateOne(api, "a", "t1")).toMatchObject({ status: 500, body: failed });
  expect((await evaluateAll(api, "t1")).body.flags).toEqual([
    failed,
    expect.objectContaining({ key: "b", value: "whole" }),
  ]);
  expect(await evaluateOne(api, "a")).toMatchObject({ status: 200, body: { value: "for all" } });
});

test("a withheld value is not replaced by the value for all, and is not reported as absent", async () => {
  const api = await service();
  await applyValue(api, "*", "a", "for all");
  const own = await applyValue(api, "t1", "A", "own");
  const alone = await applyValue(api, "t1", "b", "own");
  await projectAll(api.deps);
  const { store } = api.deps;
  // Without its record in `values`, the value of an applied change cannot be verified and is withheld.
  await store.transact((tx) => ["a", "b"].forEach((target) => tx.delete("values", `t1\n${target}`)));
  const failed = { key: "a", errorCode: "GENERAL", errorDetails: expect.stringContaining("withheld") };
  expect(await evaluateOne(api, "a", "t1")).toMatchObject({ status: 500, body: failed });
  expect(await evaluateOne(api, "b", "t1")).toMatchObject({ status: 500, body: { errorCode: "GENERAL" } });
  expect((await evaluateAll(api, "t1")).body.flags).toEqual([failed]);
  expect(await evaluateOne(api, "a", "t2")).toMatchObject({ status: 200, body: { value: "for all" } });
  for (const id of [own, alone]) await api.must("rollback", id);
  await projectAll(api.deps);
  expect(await evaluateOne(api, "a", "t1")).toMatchObject({ status: 200, body: { value: "for all" } });
  expect((await evaluateOne(api, "b", "t1")).status).toBe(404);
  // A change without a value sets nothing, so it does not hide the value for all.
  await api.bring("applied", { tenant_id: "t1", target: "a" });
  expect((await evaluateAll(api, "t1")).body.flags).toMatchObject([{ key: "a", value: "for all" }]);
});

const INVALID_BODIES: [fault: string, body: string, errorCode: string][] = [
  ["invalid JSON", "{", "PARSE_ERROR"],
  ["a list", "[]", "PARSE_ERROR"],
  ["a member twice", '{"context":{},"context":{}}', "PARSE_ERROR"],
  ["a context that is no object", '{"context":1}', "INVALID_CONTEXT"],
  ["a targeting key that is no text", '{"context":{"targetingKey":1}}', "INVALID_CONTEXT"],
];
test.each(INVALID_BODIES)("a body with %s is rejected in the protocol's error format", async (_, body, errorCode) => {
  const api = await service();
  const headers = { "content-type": "application/json; charset=utf-8" };
  const one = await api.raw(`${FLAGS}/a/b`, body, headers);
  expect([one.status, one.body]).toEqual([400, { key: "a/b", errorCode, errorDetails: expect.any(String) }]);
  const all = await api.raw(FLAGS, body, headers);
  expect([all.status, all.body]).toEqual([400, { errorCode, errorDetails: expect.any(String) }]);
});

test.each(["", "{}", '{"context":null}'])("the request %j selects the values for all tenants", async (body) => {
  const api = await service();
  await applyValue(api, "*", "a", 1);
  const headers = { "content-type": "application/json" };
  expect((await api.raw(`${FLAGS}/a`, body, headers)).body).toMatchObject({ value: 1, reason: "STATIC" });
  expect((await api.raw(FLAGS, body, headers)).body.flags).toMatchObject([{ key: "a", value: 1 }]);
});

test("a null value is not a flag, and hides the value for all tenants", async () => {
  const api = await service();
  await applyValue(api, "*", "a", 1);
  await applyValue(api, "t1", "a", null);
  expect(await evaluateOne(api, "a", "t1")).toMatchObject({ status: 404, body: { errorCode: "FLAG_NOT_FOUND" } });
  expect((await evaluateAll(api, "t1")).body.flags).toEqual([]);
});

test("parameters that the protocol does not have are 400 in its error format", async () => {
  const api = await service();
  await applyValue(api, "t1", "a", 1);
  const context = { context: { targetingKey: "t1" } };
  const allowedQuery = `${FLAGS}?flagConfigEtag=x&flagConfigLastModified=1771622898`;
  expect((await api.json(allowedQuery, context)).body.flags).toMatchObject([{ key: "a", value: 1 }]);
  for (const [path, key] of [
    [`${FLAGS}?tenant_id=t1`, {}],
    [`${FLAGS}/a?b=c`, { key: "a" }],
  ] as const)
    expect(await api.json(path, context)).toMatchObject({
      status: 400,
      body: { ...key, errorCode: "PARSE_ERROR", errorDetails: expect.stringContaining("not in the address") },
    });
});

test("other fields of a context or a body are ignored, and so is the content type", async () => {
  const api = await service();
  await applyValue(api, "t1", "a", 1);
  const body = JSON.stringify({ context: { targetingKey: "t1", email: "x@y", nested: { a: [1] } }, later: true });
  for (const type of ["application/json", "text/plain", "application/x-www-form-urlencoded"])
    expect((await api.raw(`${FLAGS}/a`, body, { "content-type": type })).body).toMatchObject({
      value: 1,
    });
});

describe("an evaluation is a read", () => {
  const READ = "read-token-of-sixteen-and-more";
  const openWithTokens = (options: TestOptions = {}) =>
    service({ adminToken: "admin-token-of-sixteen", readToken: READ, ...options });

  test("without a token and without a person if reads are open", async () => {
    const api = await openWithTokens({ identityHeader: "x-person", allowAnonymousWrites: false });
    // The request is allowed, and there is no such flag.
    expect((await evaluateOne(api, "a")).status).toBe(404);
    expect((await evaluateAll(api)).status).toBe(200);
  });

  test("that is rejected with 401 and no body if reads are protected", async () => {
    const api = await openWithTokens({ protectReads: true });
    for (const headers of [{}, { authorization: "Bearer wrong" }, { "x-svc-read-token": "wrong" }]) {
      for (const rejected of [await evaluateOne(api, "a", "t1", headers), await evaluateAll(api, "t1", headers)]) {
        expect([rejected.status, rejected.text]).toEqual([401, ""]);
        expect(rejected.headers.get("www-authenticate")).toContain("Bearer");
      }
    }
    for (const headers of [{ authorization: `Bearer ${READ}` }, { "x-svc-admin-token": "admin-token-of-sixteen" }])
      expect((await evaluateOne(api, "a", "t1", headers)).status).toBe(404);
  });

  test("that an agent may send with its secret", async () => {
    const secret = "agent-secret-of-sixteen-and-more";
    const principals = { "agent:pricing": { kind: "agent", token_sha256: sha256(secret) } };
    const api = await openWithTokens({ protectReads: true, intent: { principals } });
    expect((await evaluateAll(api, "t1", { authorization: `Bearer ${secret}` })).status).toBe(200);
  });

  test("that writes nothing, and succeeds while the chain is broken", async () => {
    const api = await service();
    await applyValue(api, "t1", "a", 1);
    await projectAll(api.deps);
    api.deps.integrity.breach = { first_invalid: 1000, reason: "edited" };
    const { store } = api.deps;
    store.transact = () => Promise.reject(new Error("a read writes nothing"));
    expect((await evaluateOne(api, "a", "t1", { "idempotency-key": "k" })).status).toBe(200);
    expect((await evaluateAll(api, "t1")).status).toBe(200);
  });

  test("by POST only, and 503 without a product", async () => {
    const api = await service({ intent: null });
    expect(await evaluateOne(api, "a")).toMatchObject({ status: 503, body: { key: "a", errorCode: "GENERAL" } });
    expect((await api.get(FLAGS)).status).toBe(405);
  });
});

describe("a split value", () => {
  const SPLIT = {
    $split: {
      unit: "userId",
      shares: [
        ["new", { color: "red" }, 5000],
        ["old", { color: "blue" }, 5000],
      ],
    },
  };
  const evaluate = (api: TestService, context: object) => api.json(`${FLAGS}/ui.banner`, { context });

  test("returns the value of a share to each user, selected by the attribute in `unit`", async () => {
    const api = await service();
    const id = await applyValue(api, "t1", "ui.banner", SPLIT);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, user) => evaluate(api, { targetingKey: "t1", userId: `user-${user}` })),
    );
    const variants = answers.map(({ body }) => body.variant);
    expect(new Set(variants)).toEqual(new Set(["new", "old"]));
    for (const { body } of answers)
      expect(body).toMatchObject({
        value: { color: body.variant === "new" ? "red" : "blue" },
        reason: "SPLIT",
        metadata: { change_id: id, version: id, flagSetId: "t1" },
      });
    const repeated = await evaluate(api, { targetingKey: "t1", userId: "user-0" });
    expect(repeated.body).toEqual(answers[0]!.body);
  });

  test("returns the last share's value, and no variant, if the context has no user", async () => {
    const api = await service();
    await applyValue(api, "*", "ui.banner", SPLIT);
    for (const context of [{}, { userId: "" }, { userId: null }, { targetingKey: "t1", user: "u" }]) {
      const { body } = await evaluate(api, context);
      expect(body).toMatchObject({ value: { color: "blue" }, reason: "STATIC" });
      expect(body).not.toHaveProperty("variant");
    }
  });

  test("is the same in the bulk response as in a single one", async () => {
    const api = await service();
    await applyValue(api, "t1", "ui.banner", SPLIT);
    const context = { targetingKey: "t1", userId: 17 };
    const { body } = await evaluate(api, context);
    expect((await api.json(FLAGS, { context })).body.flags).toEqual([body]);
    expect((await evaluate(api, { ...context, userId: "17" })).body).toEqual(body);
  });

  test("uses the targeting key as the user if an attribute names the tenant", async () => {
    const api = await service({ ofrepTenant: "org" });
    await applyValue(api, "t1", "ui.banner", SPLIT);
    const byUser = await evaluate(api, { org: "t1", targetingKey: "user-3", userId: "another" });
    expect(byUser.body).toMatchObject({ reason: "SPLIT", metadata: { flagSetId: "t1" } });
    // The attribute in `unit` has no effect.
    expect((await evaluate(api, { org: "t1", targetingKey: "user-3" })).body).toEqual(byUser.body);
    expect((await evaluate(api, { targetingKey: "t1" })).status).toBe(404);
  });

  test("of a wrong form is rejected with 400 at the proposal", async () => {
    const api = await service();
    const value = {
      $split: {
        shares: [
          ["on", true, 1],
          ["off", false, 2],
        ],
      },
    };
    const rejected = await api.json("/api/product/propose", { ...PROPOSAL, value });
    expect(rejected).toMatchObject({
      status: 400,
      body: { code: "value_not_allowed", error: expect.stringContaining("must have 10000 in sum") },
    });
  });
});

test("a split value for a system without splits is rejected with 400 at the proposal", async () => {
  const api = await service({ adapter: editableTarget().adapter });
  const value = {
    $split: {
      shares: [
        ["on", true, 5000],
        ["off", false, 5000],
      ],
    },
  };
  expect(await api.json("/api/product/propose", { ...PROPOSAL, value })).toMatchObject({
    status: 400,
    body: { code: "value_not_allowed", error: expect.stringContaining("splits no values between users") },
  });
});

test.each([
  [true, "on"],
  [false, "off"],
  ["red", "value"],
  [0, "value"],
])("the variant of the value %j is %s", async (value, variant) => {
  const api = await service();
  await applyValue(api, "t1", "any", value);
  expect((await evaluateOne(api, "any", "t1")).body).toMatchObject({ value, variant });
});
