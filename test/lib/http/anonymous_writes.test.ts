/** Hosts on the internet reject writes while no admin token is configured, unless anonymous writes are allowed. */
import { describe, expect, test } from "vitest";
import { endpoints } from "../../../handlers/index.ts";
import { replyToMessage } from "../../../lib/chat/reply.ts";
import { openAiLlm } from "../../../lib/llm/openai.ts";
import { isWrite } from "../../../lib/http/admission.ts";
import type { Call } from "../../../lib/http/endpoint.ts";
import type { OperationsDeps } from "../../../lib/operations/deps.ts";
import { rejectAnonymousWrites } from "../../../lib/http/guards.ts";
import { provider } from "../chat/model_server.ts";
import { PROPOSAL } from "../../support/client.ts";
import { openDeps } from "../../support/deps.ts";
import { GET_PATHS } from "../../support/get_paths.ts";
import { form } from "../../support/requests.ts";
import { service } from "../../support/service.ts";

const WRITES = endpoints.filter((endpoint) => isWrite(endpoint) && !endpoint.open).map(({ path }) => path);
const TOKEN = "correct horse battery staple";
const unauthorized = { status: 401, body: { code: "unauthorized" } };

test.each([
  [{ allowAnonymousWrites: false }, true],
  [{ allowAnonymousWrites: false, adminToken: "" }, true],
  [{ allowAnonymousWrites: false, adminToken: "token" }, false],
  [{ allowAnonymousWrites: true }, false],
  [{}, false],
])("with %o every write is rejected: %j", (settings, isRejected) => {
  const check = () => rejectAnonymousWrites(settings);
  if (isRejected) expect(check).toThrow(/configure SVC_ADMIN_TOKEN/);
  else expect(check).not.toThrow();
});

describe("without a token and without permission for anonymous writes", () => {
  test.each(WRITES)("POST %s is 401, whatever token is sent, and nothing is written", async (path) => {
    const api = await service({ allowAnonymousWrites: false });
    const before = await api.deps.store.list("audit", { limit: 10 });
    for (const token of [{}, { "x-svc-admin-token": "" }, { "x-svc-admin-token": "undefined" }]) {
      const reply = await api.post(path, {}, token);
      expect(reply).toMatchObject(unauthorized);
      expect(reply.headers.get("www-authenticate")).toContain("X-Svc-Admin-Token");
    }
    for (const collection of ["changes", "tasks", "chat", "memories", "actions"] as const)
      expect(await api.deps.store.list(collection, { limit: 1 }), collection).toEqual([]);
    expect(await api.deps.store.list("audit", { limit: 10 })).toEqual(before);
  });

  test("a cross-site write is rejected before the token is checked, and no body is read", async () => {
    const api = await service({ allowAnonymousWrites: false });
    expect((await api.post("kpi", {}, { "sec-fetch-site": "cross-site" })).body.code).toBe("cross_site");
    // A body of this size would be 413 if it were read.
    expect(await api.raw("kpi", "x".repeat(100_000))).toMatchObject(unauthorized);
  });

  test("all reads still succeed", async () => {
    const api = await service({ allowAnonymousWrites: false });
    // A new service has no change, no self-evolution file, and no entry that a checkpoint proves.
    for (const path of GET_PATHS.filter((path) => !/CHANGE|FILE|proof/.test(path)))
      expect((await api.get(path)).status, path).toBe(200);
  });
});

test("with a configured token governed writes need it, and other writes need none", async () => {
  const api = await service({ allowAnonymousWrites: false, adminToken: TOKEN });
  expect(await api.post("propose", PROPOSAL)).toMatchObject(unauthorized);
  expect((await api.post("propose", PROPOSAL, { "x-svc-admin-token": TOKEN })).status).toBe(201);
  expect((await api.post("/api/tasks", { title: "t" })).status).toBe(201);
});

test("the model's drafts are not stored for a caller who may not write", async () => {
  const draft = { tenant_id: "t1", kind: "feature_flag", target: "ui.banner", summary: "Show it", rationale: "asked" };
  /** Returns the number of changes after a chat in which the model drafts a change and the caller confirms it. */
  const countConfirmedDrafts = async (allowAnonymousWrites: boolean) => {
    const { url } = await provider((_, round) =>
      round === 0 ? { tools: [{ name: "draft_change", input: draft }] } : { text: "done" },
    );
    const llm = openAiLlm({ model: "m1", baseUrl: url });
    const deps = await openDeps({ llm, allowAnonymousWrites });
    const identity = { person: undefined, personSource: "the person who is logged in", hasToken: false };
    const call: Call<OperationsDeps> = { deps, request: form("/api/chat"), identity, idempotency: undefined };
    const { answer } = await replyToMessage(call, { message: "draft a banner" });
    const { draft_id } = answer.drafts[0]!;
    if (draft_id !== null) await replyToMessage(call, { message: "yes", confirm_draft: draft_id });
    return (await deps.store.list("changes", { limit: 10 })).length;
  };
  expect(await countConfirmedDrafts(false)).toBe(0);
  expect(await countConfirmedDrafts(true)).toBe(1);
});
