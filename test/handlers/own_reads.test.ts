/**
 * Tests that an agent with `read: own` learns nothing of other agents' changes: two services that differ only in those changes
 * answer it alike. The length of the log is not secret, since each receipt has it.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { app, endpoints } from "../../handlers/index.ts";
import { isWrite } from "../../lib/http/admission.ts";
import { canRead } from "../../lib/changes/rules/reader.ts";
import { portableSha256 } from "../../lib/kit/platform.ts";
import type { Insight } from "../../lib/link/insight.ts";
import { TOOLS } from "../../lib/mcp/toolbox.ts";
import { readSlices } from "../../lib/find/change_index.ts";
import type { Stages } from "../../lib/rollout/stages.ts";
import { DAY } from "../support/clock.ts";
import { AGENT, asAgent, mcpClient, SECRET } from "../support/mcp.ts";
import { GET_PATHS } from "../support/get_paths.ts";
import { STAGES } from "../support/rollouts.ts";
import { scriptedAdapter } from "../support/scripted_adapter.ts";
import { service, type TestService } from "../support/service.ts";

const ADMIN = { "x-svc-admin-token": "correct horse battery staple" };
const OTHER = { authorization: "Bearer another agent's secret" };
const CANARY = /canary/i;

const intent = {
  kpis: { csat: { baseline: 4, target: 5 } },
  principals: {
    ana: { kind: "person" },
    [AGENT]: { kind: "agent", token_sha256: portableSha256(SECRET), may: { read: "own", targets: ["price.*"] } },
    "agent:other": { kind: "agent", token_sha256: portableSha256("another agent's secret") },
  },
  policy: {
    forbidden_targets: ["auth.*"],
    break_glass: { approvers: ["ana"], review_hours: 24 },
    targets: [{ match: ["*"], max_step: { absolute: 10 } }],
  },
};

const proposal = (over: object = {}) => ({
  tenant_id: "t1",
  kind: "config",
  target: "price.base",
  value: 40,
  summary: "Raise the base price",
  kpi: "csat",
  expected_delta_k: 0.1,
  ...over,
});

interface Scenario {
  api: TestService;
  own: { applied: string; pending: string; approved: string };
  others: string[];
}

/** Creates changes of the agent, and with `withOthers` those of another agent. */
async function runScenario(withOthers: boolean): Promise<Scenario> {
  const api = await service({
    intent,
    adapter: scriptedAdapter(),
    adminToken: ADMIN["x-svc-admin-token"],
    protectReads: true,
  });
  const propose = async (headers: object, over: object = {}): Promise<string> => {
    const { status, body } = await api.json("propose", proposal(over), headers as HeadersInit);
    expect(status, JSON.stringify(body)).toBe(201);
    return body.change_id;
  };
  const bring = async (change_id: string, ...actions: string[]): Promise<string> => {
    for (const action of actions)
      expect(
        (await api.post(action, action === "approve" ? { change_id, approver: "ana" } : { change_id }, ADMIN)).status,
      ).toBe(200);
    return change_id;
  };
  await api.post("kpi", { csat: 4 }, ADMIN);
  const own = {
    applied: await bring(await propose(asAgent), "approve", "apply"),
    pending: await propose(asAgent, { value: 45 }),
    approved: await bring(await propose(asAgent, { target: "price.plus" }), "approve"),
  };
  const canary = { summary: "Canary of the others", rationale: "canary", tenant_id: "canary", target: "price.canary" };
  const others: string[] = [];
  if (withOthers) {
    const conflicting = { summary: "canary" };
    others.push(
      await propose(OTHER, { ...conflicting, value: 41 }),
      await propose(OTHER, { ...conflicting, target: "price.plus" }),
      await propose(OTHER, canary),
      await bring(await propose(OTHER, { ...canary, target: "ui.canary" }), "approve"),
      await bring(await propose(OTHER, { ...canary, target: "ui.canary2" }), "approve", "apply"),
      await bring(await propose(OTHER, { ...canary, target: "ui.canary3" }), "approve", "apply", "rollback"),
    );
    const urgent = await propose(OTHER, { ...canary, target: "ui.urgent" });
    others.push(urgent);
    const emergency = { change_id: urgent, approver: "ana", emergency: true, note: "canary" };
    expect((await api.post("approve", emergency, ADMIN)).status).toBe(200);
    expect((await api.post("apply", { change_id: urgent }, ADMIN)).status).toBe(200);
    const forbidden = await api.json("propose", proposal({ ...canary, target: "auth.canary" }), OTHER);
    expect(forbidden.status).toBe(403);
    await api.post("/api/chat", { message: `What of ${others[0]}, the canary?`, author: "ana" }, ADMIN);
  }
  return { api, own, others };
}

/** Fields whose values depend on the name and the length of the log. */
const LOG_FIELDS = new Set([
  "length",
  "head",
  "origin",
  "current_hash",
  "previous_hash",
  "request_id",
  "as_of",
  "behind",
]);

const omitLogFields = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(omitLogFields);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (LOG_FIELDS.has(name) ? [] : [[name, omitLogFields(one)]])),
  );
};

/** Paths of reads about the service as a whole, which the agent may not use. */
const CLOSED = [
  "/api/product/audit/verify",
  "/api/product/co-evolution",
  "/api/product/export",
  "/api/gate",
  "/api/state",
  "/api/log",
  "/api/capabilities",
  "/api/metrics",
  "/api/events",
  "/api/chat/history",
  "/api/tasks",
  "/api/evolved",
  "/api/evolved/:file",
  "/api/l1l5_trend",
  "/api/action/list",
  "/ofrep/v1/evaluate/flags",
  "/ofrep/v1/evaluate/flags/:key",
];
/** Paths of reads that show the agent only its own changes. */
const FILTERED = [
  "/api/product/runtime",
  "/api/product/audit",
  "/api/product/approvals",
  "/api/product/changes/:change_id",
  "/api/product/changes/:change_id/certificate",
  "/api/product/changes/:change_id/attestation",
  "/api/product/outcomes",
  "/api/product/drift",
  "/api/product/mandates",
  "/api/product/mandates/:mandate_id",
  "/api/product/policy",
  "/api/product/values",
  "/api/product/pack",
  "/api/inbox",
  "/api/find",
  "/api/find/saved",
  "/api/memory/search",
  "/mcp",
];
/** Paths of reads that show no change. */
const NEUTRAL = [
  "/api/product/audit/checkpoint",
  "/api/product/audit/proof",
  "/api/product/intent",
  "/api/product/identity",
  "/api/peers",
];

const reads = endpoints.filter((one) => !isWrite(one) && !one.open);
const listPathsOfKind = (kind: string | undefined) =>
  reads.filter(({ ownReads }) => ownReads === kind).map(({ path }) => path);

test("each endpoint declares how it answers an agent that may read only its own changes", () => {
  expect(listPathsOfKind("filtered").sort()).toEqual(FILTERED.sort());
  expect(listPathsOfKind("neutral").sort()).toEqual(NEUTRAL.sort());
  expect(listPathsOfKind(undefined).sort()).toEqual(CLOSED.sort());
  expect(TOOLS.filter(({ ownReads }) => !ownReads).map(({ name }) => name)).toEqual(["product_state"]);
});

let scenarioAlone: Scenario;
let scenarioWithOthers: Scenario;
beforeAll(async () => {
  [scenarioAlone, scenarioWithOthers] = [await runScenario(false), await runScenario(true)];
});

/** Paths of filtered reads with further parameters. */
const FILTERED_QUERIES = [
  "runtime?limit=1",
  "runtime?status=pending_consent&limit=1",
  "runtime?target=price.base&event=approved",
  "audit?limit=2",
  "audit?limit=3&after=2",
  "audit?change_id=CHANGE",
  "audit?event_type=change_proposed&limit=1",
  "audit?tenant_id=canary",
  "approvals?limit=1",
  "outcomes?limit=1",
  "values?limit=1",
  "values?target=price.base",
  "values?tenant_id=canary",
  "policy?target=price.base&tenant_id=t1",
  "policy?target=ui.canary2&tenant_id=canary",
  "changes/CHANGE?seen=1",
  "changes/CHANGE?wait=0",
  "pack?change_id=CHANGE",
  "pack?change_id=CHANGE&format=html",
  "/api/inbox?limit=1",
  "/api/find?q=canary",
  "/api/find?q=tenant:canary",
  "/api/find?q=raise",
  "/api/find?q=raise&limit=1",
  "/api/find?q=group:proposer",
  "/api/find?q=time:proposed-decided",
  "/api/find?q=verdict:too_early",
  "/api/memory/search?q=canary",
  "/api/memory/search?q=price",
].map((path) => (path.startsWith("/") ? path : `/api/product/${path}`));

const selectReads = (declaredPaths: readonly string[]): string[] =>
  GET_PATHS.filter((path) => {
    const [plain = ""] = path
      .replace("CHANGE/", ":change_id/")
      .replace(/CHANGE$/, ":change_id")
      .replace(/FILE$/, ":file")
      .split("?");
    return declaredPaths.includes(plain);
  });

describe("every GET", () => {
  test.each([...selectReads(FILTERED), ...FILTERED_QUERIES])(
    "%s answers as if there were no other agent",
    async (path) => {
      for (const id of path.includes("CHANGE") ? Object.values(scenarioWithOthers.own) : [""]) {
        const read = (scenario: Scenario) => scenario.api.get(path.replace("CHANGE", id), asAgent);
        const [alone, withOthers] = [await read(scenarioAlone), await read(scenarioWithOthers)];
        // A response may repeat the word if its query has it.
        if (!CANARY.test(path)) expect(withOthers.text).not.toMatch(CANARY);
        if (withOthers.headers.get("content-type")?.includes("json"))
          expect([withOthers.status, omitLogFields(withOthers.body)]).toEqual([
            alone.status,
            omitLogFields(alone.body),
          ]);
      }
    },
  );

  test.each(selectReads(CLOSED))("%s is 403 agent_may_not", async (path) => {
    const reply = await scenarioWithOthers.api.get(path, asAgent);
    expect(reply).toMatchObject({ status: 403, body: { code: "agent_may_not", agent: AGENT } });
  });

  test.each(selectReads(NEUTRAL))("%s shows nothing of the other agent", async (path) => {
    const reply = await scenarioWithOthers.api.get(path, asAgent);
    expect(reply.status).toBe(200);
    expect(CANARY.test(reply.text)).toBe(false);
  });

  test.each(["audit?format=jsonl", "audit?format=csv", "audit?format=jsonl&contents=1"])(
    "%s, the whole log, is 403 agent_may_not",
    async (path) => {
      expect(await scenarioWithOthers.api.get(path, asAgent)).toMatchObject({
        status: 403,
        body: { code: "agent_may_not" },
      });
    },
  );
});

describe("another agent's change", () => {
  const UNKNOWN = "chg_00000000-0000-7000-8000-000000000000";
  const WITH_ID = [...selectReads(FILTERED), ...FILTERED_QUERIES].filter((path) => path.includes("CHANGE"));

  test.each(WITH_ID)("%s answers as for an unknown id", async (path) => {
    const answer = async (id: string) => {
      const { status, text } = await scenarioWithOthers.api.get(path.replace("CHANGE", id), asAgent);
      return [status, text.replaceAll(id, "ID").replace(/"request_id":"[^"]*"/, "")];
    };
    const unknown = await answer(UNKNOWN);
    for (const id of scenarioWithOthers.others) expect(await answer(id)).toEqual(unknown);
  });

  test.each([
    "runtime?before=ID",
    "outcomes?before=ID",
    "approvals?after=ID",
    "/api/find?q=group:proposer&after=ID",
    "/api/find?q=raise&after=ID",
  ])("%s with its id as the cursor answers as for an unknown id", async (path) => {
    const read = (id: string) => scenarioWithOthers.api.get(path.replace("ID", id), asAgent);
    const last = scenarioWithOthers.others.at(-1)!;
    const unknownId = `${last.slice(0, -4)}ffff`;
    const [hidden, unknown] = [await read(last), await read(unknownId)];
    expect(omitLogFields([hidden.status, hidden.body.changes, hidden.body.fields])).toEqual(
      omitLogFields([unknown.status, unknown.body.changes, unknown.body.fields]),
    );
  });

  test("cannot be withdrawn or superseded, and the error is that for an unknown change", async () => {
    const { api, others } = scenarioWithOthers;
    const answers = async (change_id: string) => {
      const withdrawn = await api.post("withdraw", { change_id }, asAgent);
      const superseding = await api.json("propose", proposal({ supersedes: change_id }), asAgent);
      return [withdrawn.status, withdrawn.body.code, superseding.status, superseding.body.error];
    };
    const unknown = await answers(UNKNOWN);
    expect(unknown.slice(0, 3)).toEqual([404, "change_not_found", 400]);
    for (const id of others) expect(await answers(id)).toEqual(unknown);
  });
});

describe("over MCP", () => {
  const callTool = (api: TestService, name: string, args: object = {}) =>
    mcpClient(app(api.deps), asAgent).tool(name, args as Record<string, unknown>);
  const CALLS: [string, (own: Scenario["own"]) => object][] = [
    ["explain_policy", () => ({ kind: "config", target: "price.base", tenant_id: "t1" })],
    ["explain_policy", () => ({ kind: "config", target: "ui.canary2", tenant_id: "canary" })],
    ["find", () => ({ query: "" })],
    ["find", () => ({ query: "group:target" })],
    ["list_changes", () => ({})],
    ["list_changes", () => ({ status: "pending_consent", limit: 1 })],
    ["get_change", ({ pending }) => ({ change_id: pending })],
    ["get_change", ({ approved }) => ({ change_id: approved })],
    ["wait_for_decision", ({ approved }) => ({ change_id: approved })],
    ["search_memory", () => ({ query: "canary price" })],
  ];

  test.each(CALLS)("%s answers as if there were no other agent", async (name, args) => {
    const [alone, withOthers] = [
      await callTool(scenarioAlone.api, name, args(scenarioAlone.own)),
      await callTool(scenarioWithOthers.api, name, args(scenarioWithOthers.own)),
    ];
    expect(omitLogFields(withOthers)).toEqual(omitLogFields(alone));
  });

  test("CALLS has every reading tool, and a tool about the whole service is not listed", async () => {
    const reading = TOOLS.filter(({ writes, ownReads }) => !writes && ownReads).map(({ name }) => name);
    expect(new Set(CALLS.map(([name]) => name))).toEqual(new Set(reading));
    const { body } = await mcpClient(app(scenarioWithOthers.api.deps), asAgent).request("tools/list");
    expect(body.result.tools.map(({ name }: { name: string }) => name)).not.toContain("product_state");
    expect(await callTool(scenarioWithOthers.api, "product_state")).toMatchObject({
      refused: { code: "agent_may_not" },
    });
  });

  test("another agent's change is unknown to each tool that takes an id", async () => {
    for (const change_id of scenarioWithOthers.others)
      for (const name of ["get_change", "wait_for_decision", "withdraw_change"])
        expect(await callTool(scenarioWithOthers.api, name, { change_id }), name).toMatchObject({
          refused: { code: "change_not_found" },
        });
  });
});

describe("a proposal by the agent", () => {
  test("lists only the agent's own changes as conflicts", async () => {
    const { api, own } = await runScenario(true);
    const { body } = await api.json("propose", proposal({ value: 46 }), asAgent);
    expect(body.conflicts).toEqual([own.pending]);
    expect(JSON.stringify({ ...body, audit_entry: null })).not.toMatch(CANARY);
  });

  test("is blocked by another agent's open change without naming that change", async () => {
    const api = await service({ intent: { ...intent, policy: { on_conflict: "block" } }, protectReads: true });
    const { change_id } = (await api.json("propose", proposal(), OTHER)).body;
    const { status, body } = await api.json("propose", proposal(), asAgent);
    expect([status, body.code, body.conflicts]).toEqual([409, "target_conflict", []]);
    const { refused } = await mcpClient(app(api.deps), asAgent).tool("propose_change", proposal());
    expect([refused.code, JSON.stringify(refused).includes(change_id)]).toEqual(["target_conflict", false]);
  });
});

test("an agent without `read: own` and the admin token see every change", async () => {
  const { api } = scenarioWithOthers;
  for (const headers of [OTHER, ADMIN]) {
    const { body } = await api.get("runtime", headers);
    expect(body.total, "3 changes of the agent and 7 of the other").toBe(10);
  }
});

test("an approved change shows that another agent's change holds its target, but not which one", async () => {
  const { api, own } = await runScenario(false);
  const { body } = await api.json("propose", proposal({ target: "price.plus", value: 42, summary: "canary" }), OTHER);
  await api.post("approve", { change_id: body.change_id, approver: "ana" }, ADMIN);
  expect((await api.post("apply", { change_id: body.change_id }, ADMIN)).status).toBe(200);
  const { text, body: change } = await api.get(`changes/${own.approved}`, asAgent);
  expect(text).not.toContain(body.change_id);
  expect(change.gates).toContainEqual(
    expect.objectContaining({
      gate: "target_moved",
      message: expect.stringContaining("the target holds another change now"),
    }),
  );
});

test("the agent's drift report and its result cover only the agent's own changes", async () => {
  const { api, own, others } = await runScenario(true);
  // The fifth of the other agent's changes in `runScenario` is the applied one.
  const appliedByOther = others[4]!;
  const episode = { target: "price.base", tenant_id: "t1", host: "absent", since: api.deps.clock.iso() } as const;
  await api.deps.store.transact(async (tx) => {
    for (const [change_id, state] of [
      [own.applied, "drifted"],
      [appliedByOther, "missing"],
    ] as const)
      tx.put("drift", change_id, { ...episode, change_id, state });
  });
  const read = async (headers: object) => (await api.get("drift", headers as HeadersInit)).body;
  expect(await read(OTHER)).toMatchObject({ result: "missing", missing: [{ change_id: appliedByOther }] });
  expect(await read(asAgent)).toMatchObject({
    result: "drifted",
    drifted: [{ change_id: own.applied }],
    missing: [],
  });
  const inbox = await api.get("/api/inbox", asAgent);
  expect(inbox.text).toContain(own.applied);
  expect([inbox.text.includes(appliedByOther), inbox.body.drifted.total]).toEqual([false, 1]);
});

test("the agent reads no calibration and no memory from outcomes of other agents", async () => {
  const { api } = await runScenario(true);
  await api.post("kpi", { csat: 3.5 }, ADMIN);
  api.deps.clock.advance(8 * DAY);
  await api.post("kpi", { csat: 4.25 }, ADMIN);
  const read = async (headers: object) => {
    const { calibration } = (await api.get("outcomes", headers as HeadersInit)).body;
    const { results } = (await api.get("/api/memory/search?q=verdict", headers as HeadersInit)).body;
    return [calibration?.length, results.map(({ kind }: { kind: string }) => kind).includes("verdict")];
  };
  expect(await read(OTHER)).toEqual([expect.any(Number), true]);
  expect(await read(asAgent)).toEqual([undefined, false]);
});

test("the agent's change does not show evidence from insights of peers", async () => {
  const { api, own } = await runScenario(false);
  const insight = {
    insight_id: "ins_1",
    kind: "config",
    target: "price.base",
    kpi: "csat",
    realised_delta: 2,
    trust: 1,
  };
  await api.deps.store.transact(async (tx) =>
    tx.put("co_evolution", "ins_1", { ...insight, verdict: "met", shared_count: 0, basis: "correlation" } as Insight),
  );
  const evidence = async (headers: object) =>
    (await api.get(`changes/${own.applied}`, headers as HeadersInit)).body.evidence;
  expect([(await evidence(ADMIN))?.n, await evidence(asAgent)]).toEqual([1, null]);
});

test("during the agent's rollout the old value is withheld if no change of the agent set it", async () => {
  const api = await service({
    intent: {
      principals: {
        [AGENT]: { kind: "agent", token_sha256: portableSha256(SECRET), may: { read: "own" } },
        "agent:analytics": { kind: "agent", token_sha256: portableSha256("feeds") },
      },
    },
  });
  const target = { target: "ui.banner" };
  await api.bring("applied", { ...target, value: '"canary"' });
  const body = { ...proposal(target), stages: STAGES, kpi: undefined, expected_delta_k: undefined };
  const { change_id } = (await api.json("propose", body, asAgent)).body;
  for (const action of ["approve", "apply"] as const) await api.must(action, change_id);
  const read = async (headers: object) => (await api.get("values?tenant_id=t1", headers as HeadersInit)).text;
  expect([CANARY.test(await read({})), CANARY.test(await read(asAgent))]).toEqual([true, false]);
  expect(await read(asAgent)).toContain("this agent may not read");
});

test("rows of changes that are read from the store are filtered too", async () => {
  const { api, own } = scenarioWithOthers;
  // With no rows and this `rest`, every change is read from the store: "~" is after all ids.
  const rows: string[] = [];
  for await (const slice of readSlices(api.deps.store, { rows: [], rest: "chg_~", reader: { name: AGENT } } as never))
    rows.push(...slice.map(({ change }) => change.change_id));
  expect(rows.sort()).toEqual(Object.values(own).sort());
});

test("an agent sees another agent's change that names it as fed_by", () => {
  const change = { proposer: "agent:other", stages: { fed_by: AGENT } as Stages };
  expect(canRead({ name: AGENT }, change)).toBe(true);
  expect(canRead({ name: "agent:third" }, change)).toBe(false);
});

test("concurrent readers with different rights do not share a response", async () => {
  const { api } = await runScenario(true);
  const fetch = app({ ...api.deps, waitForNextTurn: () => new Promise((resolve) => void setImmediate(resolve)) });
  const ask = (headers: object) =>
    fetch(new Request("http://127.0.0.1:8420/api/product/audit", { headers: headers as HeadersInit }));
  const [all, own] = await Promise.all([ask(OTHER), ask(asAgent)]);
  expect(CANARY.test(await all.text())).toBe(true);
  expect(CANARY.test(await own.text())).toBe(false);
});
