/**
 * An agent with `read: own` and another one: two services that differ only in the changes of the other answer it alike. The
 * log's length is no secret, since each receipt carries it.
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
import { READS } from "../support/reads.ts";
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

interface Played {
  api: TestService;
  own: { applied: string; pending: string; approved: string };
  others: string[];
}

/** Plays the agent's own changes, and then those of the other one. */
async function play(withOthers: boolean): Promise<Played> {
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
    const inTheWay = { summary: "canary" };
    others.push(
      await propose(OTHER, { ...inTheWay, value: 41 }),
      await propose(OTHER, { ...inTheWay, target: "price.plus" }),
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

/** Members that follow from the name and the length of the log. */
const OF_LOG = new Set(["length", "head", "origin", "current_hash", "previous_hash", "request_id", "as_of", "behind"]);

const withoutLog = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutLog);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (OF_LOG.has(name) ? [] : [[name, withoutLog(one)]])),
  );
};

/** Reads of the service as a whole. */
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
/** Reads that show the agent's own changes, and nothing of the others. */
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
/** Reads that show no change. */
const NEUTRAL = [
  "/api/product/audit/checkpoint",
  "/api/product/audit/proof",
  "/api/product/intent",
  "/api/product/identity",
  "/api/peers",
];

const reads = endpoints.filter((one) => !isWrite(one) && !one.open);
const declared = (kind: string | undefined) =>
  reads.filter(({ ownReads }) => ownReads === kind).map(({ path }) => path);

test("each read says how it answers an agent that reads its own changes", () => {
  expect(declared("filtered").sort()).toEqual(FILTERED.sort());
  expect(declared("neutral").sort()).toEqual(NEUTRAL.sort());
  expect(declared(undefined).sort()).toEqual(CLOSED.sort());
  expect(TOOLS.filter(({ ownReads }) => !ownReads).map(({ name }) => name)).toEqual(["product_state"]);
});

let alone: Played;
let among: Played;
beforeAll(async () => {
  [alone, among] = [await play(false), await play(true)];
});

/** Further forms of the same reads. */
const FORMS = [
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

const pathsOf = (declaredPaths: readonly string[]): string[] =>
  READS.filter((path) => {
    const [plain = ""] = path
      .replace("CHANGE/", ":change_id/")
      .replace(/CHANGE$/, ":change_id")
      .replace(/FILE$/, ":file")
      .split("?");
    return declaredPaths.includes(plain);
  });

describe("every GET", () => {
  test.each([...pathsOf(FILTERED), ...FORMS])("%s answers as if there were no other agent", async (path) => {
    for (const id of path.includes("CHANGE") ? Object.values(among.own) : [""]) {
      const at = (played: Played) => played.api.get(path.replace("CHANGE", id), asAgent);
      const [before, after] = [await at(alone), await at(among)];
      expect(CANARY.test(path) || !CANARY.test(after.text)).toBe(true);
      if (after.headers.get("content-type")?.includes("json"))
        expect([after.status, withoutLog(after.body)]).toEqual([before.status, withoutLog(before.body)]);
    }
  });

  test.each(pathsOf(CLOSED))("%s is 403 agent_may_not", async (path) => {
    const reply = await among.api.get(path, asAgent);
    expect(reply).toMatchObject({ status: 403, body: { code: "agent_may_not", agent: AGENT } });
  });

  test.each(pathsOf(NEUTRAL))("%s names nothing of the others", async (path) => {
    const reply = await among.api.get(path, asAgent);
    expect(reply.status).toBe(200);
    expect(CANARY.test(reply.text)).toBe(false);
  });

  test.each(["audit?format=jsonl", "audit?format=csv", "audit?format=jsonl&contents=1"])(
    "%s, the whole log, is 403 agent_may_not",
    async (path) => {
      expect(await among.api.get(path, asAgent)).toMatchObject({ status: 403, body: { code: "agent_may_not" } });
    },
  );
});

describe("a change of another", () => {
  const UNKNOWN = "chg_00000000-0000-7000-8000-000000000000";
  const WITH_ID = [...pathsOf(FILTERED), ...FORMS].filter((path) => path.includes("CHANGE"));

  test.each(WITH_ID)("%s answers as for an id that names no change", async (path) => {
    const answer = async (id: string) => {
      const { status, text } = await among.api.get(path.replace("CHANGE", id), asAgent);
      return [status, text.replaceAll(id, "ID").replace(/"request_id":"[^"]*"/, "")];
    };
    const unknown = await answer(UNKNOWN);
    for (const id of among.others) expect(await answer(id)).toEqual(unknown);
  });

  test.each([
    "runtime?before=ID",
    "outcomes?before=ID",
    "approvals?after=ID",
    "/api/find?q=group:proposer&after=ID",
    "/api/find?q=raise&after=ID",
  ])("%s goes on from it as from an unknown id", async (path) => {
    const at = (id: string) => among.api.get(path.replace("ID", id), asAgent);
    const last = among.others.at(-1)!;
    const unknownId = `${last.slice(0, -4)}ffff`;
    const [hidden, unknown] = [await at(last), await at(unknownId)];
    expect(withoutLog([hidden.status, hidden.body.changes, hidden.body.fields])).toEqual(
      withoutLog([unknown.status, unknown.body.changes, unknown.body.fields]),
    );
  });

  test("cannot be withdrawn or superseded: the answer is that of an unknown change", async () => {
    const { api, others } = among;
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
  const toolOf = (api: TestService, name: string, args: object = {}) =>
    mcpClient(app(api.deps), asAgent).tool(name, args as Record<string, unknown>);
  const CALLS: [string, (own: Played["own"]) => object][] = [
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
    const [before, after] = [
      await toolOf(alone.api, name, args(alone.own)),
      await toolOf(among.api, name, args(among.own)),
    ];
    expect(withoutLog(after)).toEqual(withoutLog(before));
  });

  test("each reading tool is tried here; the one that shows the whole service is not offered", async () => {
    const reading = TOOLS.filter(({ writes, ownReads }) => !writes && ownReads).map(({ name }) => name);
    expect(new Set(CALLS.map(([name]) => name))).toEqual(new Set(reading));
    const { body } = await mcpClient(app(among.api.deps), asAgent).request("tools/list");
    expect(body.result.tools.map(({ name }: { name: string }) => name)).not.toContain("product_state");
    expect(await toolOf(among.api, "product_state")).toMatchObject({ refused: { code: "agent_may_not" } });
  });

  test("a change of another is unknown to each tool that takes an id", async () => {
    for (const change_id of among.others)
      for (const name of ["get_change", "wait_for_decision", "withdraw_change"])
        expect(await toolOf(among.api, name, { change_id }), name).toMatchObject({
          refused: { code: "change_not_found" },
        });
  });
});

describe("a proposal", () => {
  test("of the agent names only its own changes as conflicts", async () => {
    const { api, own } = await play(true);
    const { body } = await api.json("propose", proposal({ value: 46 }), asAgent);
    expect(body.conflicts).toEqual([own.pending]);
    expect(JSON.stringify({ ...body, audit_entry: null })).not.toMatch(CANARY);
  });

  test("that another's live change blocks does not say which", async () => {
    const api = await service({ intent: { ...intent, policy: { on_conflict: "block" } }, protectReads: true });
    const { change_id } = (await api.json("propose", proposal(), OTHER)).body;
    const { status, body } = await api.json("propose", proposal(), asAgent);
    expect([status, body.code, body.conflicts]).toEqual([409, "target_conflict", []]);
    const { refused } = await mcpClient(app(api.deps), asAgent).tool("propose_change", proposal());
    expect([refused.code, JSON.stringify(refused).includes(change_id)]).toEqual(["target_conflict", false]);
  });
});

test("an agent that reads everything, the read token and people see every change", async () => {
  const { api } = among;
  for (const headers of [OTHER, ADMIN]) {
    const { body } = await api.get("runtime", headers);
    expect(body.total).toBe(10);
  }
});

test("an own change whose target another one has taken shows that, without naming it", async () => {
  const { api, own } = await play(false);
  const { body } = await api.json("propose", proposal({ target: "price.plus", value: 42, summary: "canary" }), OTHER);
  await api.post("approve", { change_id: body.change_id, approver: "ana" }, ADMIN);
  expect((await api.post("apply", { change_id: body.change_id }, ADMIN)).status).toBe(200);
  const { text, body: shown } = await api.get(`changes/${own.approved}`, asAgent);
  expect(text).not.toContain(body.change_id);
  expect(shown.gates).toContainEqual(
    expect.objectContaining({
      gate: "target_moved",
      message: expect.stringContaining("the target holds another change now"),
    }),
  );
});

test("the drift report has its own changes only, and is as bad as they are", async () => {
  const { api, own, others } = await play(true);
  const episode = { target: "price.base", tenant_id: "t1", host: "absent", since: api.deps.clock.iso() } as const;
  await api.deps.store.transact(async (tx) => {
    for (const [change_id, state] of [
      [own.applied, "drifted"],
      [others[4]!, "missing"],
    ] as const)
      tx.put("drift", change_id, { ...episode, change_id, state });
  });
  const shown = async (headers: object) => (await api.get("drift", headers as HeadersInit)).body;
  expect(await shown(OTHER)).toMatchObject({ result: "missing", missing: [{ change_id: others[4] }] });
  expect(await shown(asAgent)).toMatchObject({
    result: "drifted",
    drifted: [{ change_id: own.applied }],
    missing: [],
  });
  const inbox = await api.get("/api/inbox", asAgent);
  expect(inbox.text).toContain(own.applied);
  expect([inbox.text.includes(others[4]!), inbox.body.drifted.total]).toEqual([false, 1]);
});

test("no figure and no memory that it reads is of the outcomes of others", async () => {
  const { api } = await play(true);
  await api.post("kpi", { csat: 3.5 }, ADMIN);
  api.deps.clock.advance(8 * DAY);
  await api.post("kpi", { csat: 4.25 }, ADMIN);
  const shown = async (headers: object) => {
    const { calibration } = (await api.get("outcomes", headers as HeadersInit)).body;
    const { results } = (await api.get("/api/memory/search?q=verdict", headers as HeadersInit)).body;
    return [calibration?.length, results.map(({ kind }: { kind: string }) => kind).includes("verdict")];
  };
  expect(await shown(OTHER)).toEqual([expect.any(Number), true]);
  expect(await shown(asAgent)).toEqual([undefined, false]);
});

test("its own change does not show what peers saw of theirs", async () => {
  const { api, own } = await play(false);
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

test("the value of everybody else during its rollout is withheld where others set it", async () => {
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
  const shown = async (headers: object) => (await api.get("values?tenant_id=t1", headers as HeadersInit)).text;
  expect([CANARY.test(await shown({})), CANARY.test(await shown(asAgent))]).toEqual([true, false]);
  expect(await shown(asAgent)).toContain("this agent may not read");
});

test("rows of changes that are not in memory are filtered too", async () => {
  const { api, own } = among;
  const rows: string[] = [];
  for await (const slice of readSlices(api.deps.store, { rows: [], rest: "chg_~", reader: { name: AGENT } } as never))
    rows.push(...slice.map(({ change }) => change.change_id));
  expect(rows.sort()).toEqual(Object.values(own).sort());
});

test("a change of another that names the agent as fed_by is one that it sees", () => {
  const change = { proposer: "agent:other", stages: { fed_by: AGENT } as Stages };
  expect(canRead({ name: AGENT }, change)).toBe(true);
  expect(canRead({ name: "agent:third" }, change)).toBe(false);
});

test("readers that ask at the same moment do not share an answer", async () => {
  const { api } = await play(true);
  const fetch = app({ ...api.deps, nextTurn: () => new Promise((resolve) => void setImmediate(resolve)) });
  const ask = (headers: object) =>
    fetch(new Request("http://127.0.0.1:8420/api/product/audit", { headers: headers as HeadersInit }));
  const [all, own] = await Promise.all([ask(OTHER), ask(asAgent)]);
  expect(CANARY.test(await all.text())).toBe(true);
  expect(CANARY.test(await own.text())).toBe(false);
});
