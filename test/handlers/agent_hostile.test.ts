/**
 * An adversary with an agent's secret: every method and path, tools that there are not, other names, headers that say
 * something else, batches, odd bodies. Nothing is consented to, applied or set by any of it.
 */
import { expect, test, vi } from "vitest";
import { app, endpoints } from "../../handlers/index.ts";
import { client } from "../support/client.ts";
import { opened } from "../support/deps.ts";
import { rounds } from "../support/length.ts";
import { AGENT, asAgent, makeMessage, withAgents } from "../support/mcp.ts";
import { numbers } from "../support/numbers.ts";
import { ORIGIN } from "../support/requests.ts";
import { scriptedAdapter } from "../support/scripted_adapter.ts";

vi.setConfig({ testTimeout: 120_000 });

const ADMIN = "correct horse battery staple";
const WITH_TOKEN = { "x-svc-admin-token": ADMIN };
const CALLS = rounds(300, 2_500, 10_000);

const PROPOSAL = { tenant_id: "t1", kind: "config", summary: "Show the banner", value: { on: true } };
const NAMES = ["ana", "bo", "ANA", "ana ", AGENT, "agent:other", "policy:minor", "llm:m", "", "admin", "ａna"];
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const TOOLS = [
  "propose_change",
  "withdraw_change",
  "get_change",
  "approve_change",
  "approve",
  "apply_change",
  "rollback",
  "freeze",
  "set_value",
  "feed_kpi",
  "edit_intent",
  "__proto__",
  "constructor",
  "propose_change\n",
  "PROPOSE_CHANGE",
  "tools/call",
];
const RPC_METHODS = [
  "tools/call",
  "tools/call",
  "tools/call",
  "tools/list",
  "initialize",
  "resources/write",
  "tasks/update",
  "completion/complete",
  "approve",
  "__proto__",
];
const TYPES = [
  "application/json",
  "application/json",
  "application/x-www-form-urlencoded",
  "text/plain",
  "multipart/form-data; boundary=x",
  "application/xml",
  "application/json; charset=utf-16",
  "",
];

/** One hostile request after another, the same for the same seed. */
function adversary(seed: number, ids: readonly string[]) {
  const below = numbers(seed);
  const one = <T>(of: readonly T[]): T => of[below(of.length)]!;
  const sometimes = <T extends object>(of: T): T | object => (below(3) === 0 ? of : {});

  const headers = (): Record<string, string> => ({
    ...asAgent,
    ...(below(2) === 0 ? { "content-type": one(TYPES) } : { "content-type": "application/json" }),
    ...sometimes(WITH_TOKEN),
    ...sometimes({ "x-person": one(["ana", "bo", AGENT]) }),
    ...sometimes({ "x-http-method-override": one(["POST", "PUT", "approve"]), "x-method-override": "POST" }),
    ...sometimes({ "x-original-url": "/api/product/approve", "x-rewrite-url": "/api/product/apply" }),
    ...sometimes({ "idempotency-key": `k${below(5)}` }),
    ...sometimes({ "if-match": one(["*", '"1"', '"2"']) }),
    ...sometimes({ "mcp-session-id": "x", "last-event-id": "1", "x-forwarded-user": "ana" }),
    ...sometimes({ "x-forwarded-host": "evil.example", forwarded: "for=ana" }),
    ...(below(8) === 0 ? { origin: one(["null", "https://evil.example", ORIGIN]) } : {}),
    // Two of them are joined, as a server joins them; with a token next to it that request would be its holder's.
    ...(below(12) === 0 ? { authorization: `${asAgent.authorization}, Basic x`, "x-svc-admin-token": "wrong" } : {}),
  });

  const fields = (): Record<string, unknown> => ({
    ...sometimes({ change_id: one(ids) }),
    ...sometimes({ change_id: one(ids) }),
    ...sometimes({ ...PROPOSAL, target: `ui.${below(400)}` }),
    ...sometimes({ approver: one(NAMES) }),
    ...sometimes({ proposer: one(NAMES) }),
    ...sometimes({ actor: one(NAMES), asked_by: one(NAMES) }),
    ...sometimes({ status: "approved", approvals: [{ approver: "ana", note: "", at: "2026-01-01T00:00:00Z" }] }),
    ...sometimes({ tier: one(["minor", "major"]), affected_users: 1, risk: "low", reversible: true }),
    ...sometimes({ emergency: true, note: "now", dry_run: one([true, false]) }),
    ...sometimes({ proof: { type: "ssh", signature: "x" }, required_approvers: 0 }),
    ...sometimes({
      csat: 1,
      nrr_quarterly: 9,
      action: one(["cycle", "rebuild", "run_next_task"]),
      message: "approve it",
    }),
    ...sometimes({ title: "approve it", rating: 5, task_id: "x", q: "x", query: "x" }),
  });

  /** A body that carries the fields, or the remains of them. */
  const bodyOf = (of: Record<string, unknown>): string => {
    const json = JSON.stringify(of);
    const form = new URLSearchParams(
      Object.entries(of).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
    ).toString();
    return one([
      json,
      json,
      form,
      `[${json}]`,
      `[${json},${json}]`,
      json.replace("{", '{"__proto__":{"agent":null,"approver":"ana"},'),
      json.replace("{", '{"constructor":{"prototype":{"agents":true}},'),
      json.replace("{", '{"change_id":"x",'),
      json.slice(0, -1),
      `\uFEFF${json}`,
      `${form}&approver=bo&_method=POST`,
      below(10) === 0 ? json.replace("{", `{"pad":"${"x".repeat(70_000)}",`) : json,
    ]);
  };

  const overHttp = (): Request => {
    const { path } = one(endpoints.filter(({ path }) => path !== "/api/events"));
    const place = path.replace(":change_id", one(ids)).replace(/:\w+/, one(["x", "..%2f..%2fapprove", "__proto__"]));
    const method = one(METHODS);
    const query =
      below(4) === 0 ? `?${new URLSearchParams({ change_id: one(ids), approver: "ana", _method: "POST" })}` : "";
    const odd = one(["", "", "", "", "/", "//", "%2e", ";approve"]);
    const body = method === "GET" || method === "HEAD" ? null : bodyOf(fields());
    return new Request(ORIGIN + place + odd + query, { method, headers: headers(), body });
  };

  const overMcp = (): Request => {
    const method = one(RPC_METHODS);
    const name = one(TOOLS);
    const { params, headers: asked } = makeMessage(one(["modern", "legacy"] as const), method, {
      name,
      arguments: fields(),
    });
    const message = { jsonrpc: "2.0", id: one([1, "x", null, 1.5, { a: 1 }]), method, params };
    const good = below(2) === 0;
    if (good) message.id = 1;
    const reported = Object.fromEntries(
      Object.entries(
        good ? { ...asAgent, "content-type": "application/json", ...asked } : { ...asked, ...headers() },
      ).map(([header, value]) => [header, value.replaceAll(/[^\x20-\x7e]/g, "")]),
    );
    const body = good ? JSON.stringify(message) : bodyOf(message);
    return new Request(`${ORIGIN}/mcp`, {
      method: good ? "POST" : one(["POST", "POST", "PUT", "DELETE"]),
      headers: reported,
      body,
    });
  };

  /** Requests that would succeed without one of the checks. */
  const nearlyRight = (): Request => {
    const extra = { ...sometimes(WITH_TOKEN), ...sometimes({ "x-person": one(["ana", "bo"]) }) };
    const proposal = { ...PROPOSAL, target: `ui.${below(400)}`, ...(below(2) === 0 ? { proposer: one(NAMES) } : {}) };
    const sent = one<readonly [string, object]>([
      ["propose", proposal],
      ["withdraw", { change_id: one(ids), ...sometimes({ proposer: one(NAMES) }) }],
      ["approve", { change_id: one(ids), approver: one(NAMES), ...sometimes({ emergency: true, note: "now" }) }],
      ["deny", { change_id: one(ids), approver: one(NAMES) }],
      ["apply", { change_id: one(ids) }],
      ["rollback", { change_id: one(ids) }],
      ["kpi", { csat: 1 }],
      ["freeze", { actor: "ana" }],
    ]);
    if (below(2) === 0) {
      const reported = { ...asAgent, ...extra, "content-type": "application/json" };
      return new Request(`${ORIGIN}/api/product/${sent[0]}`, {
        method: "POST",
        headers: reported,
        body: JSON.stringify(sent[1]),
      });
    }
    const { params, headers: asked } = makeMessage("modern", "tools/call", {
      name: `${sent[0]}_change`,
      arguments: sent[1],
    });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    return new Request(`${ORIGIN}/mcp`, {
      method: "POST",
      headers: { ...asAgent, ...extra, "content-type": "application/json", ...asked },
      body,
    });
  };

  return (): Request => one([overHttp, overMcp, nearlyRight])();
}

test(`${CALLS} hostile calls with an agent's secret: no consent, no apply, no value changed`, async () => {
  const adapter = scriptedAdapter();
  const minor = { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50, max_risk: "low" };
  const break_glass = { approvers: ["ana"], required: 1, review_hours: 72 };
  const deps = await opened({
    intent: withAgents({ minor, break_glass }),
    adminToken: ADMIN,
    identityHeader: "x-person",
    adapter,
  });
  const fetch = app(deps);
  const api = client(fetch);
  const asAna = { ...WITH_TOKEN, "x-person": "ana" };
  const propose = async (target: string, headers: Record<string, string>) =>
    (await api.json("propose", { ...PROPOSAL, target }, headers)).body.change_id as string;
  const own = await propose("ui.own", asAgent);
  const others: string[] = [];
  for (const status of ["pending_consent", "approved", "applied", "rolled_back"]) {
    const id = await propose(`ui.${status}`, { ...WITH_TOKEN, "x-person": "pat" });
    others.push(id);
    if (status !== "pending_consent") await api.post("approve", { change_id: id }, asAna);
    if (status === "applied" || status === "rolled_back") await api.post("apply", { change_id: id }, asAna);
    if (status === "rolled_back") await api.post("rollback", { change_id: id }, asAna);
  }
  const approvedOwn = await propose("ui.approved_own", asAgent);
  await api.post("approve", { change_id: approvedOwn }, asAna);
  const fixed = [...others, approvedOwn];
  const shown = () => Promise.all(fixed.map(async (id) => (await deps.store.get("changes", id))!.value.change));
  const before = await shown();
  const head = (await api.audit("?limit=1")).at(-1)!.id as number;
  const done = [...adapter.calls];
  const intent = (await api.get("intent")).text;

  const next = adversary(7, [own, ...fixed, "nope", "__proto__"]);
  const statuses = new Map<number, number>();
  for (let call = 0; call < CALLS; call++) {
    const { status, body } = await fetch(next());
    await body?.cancel();
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  // The adversary gets through to what an agent may do, or it would have been no test.
  expect(statuses.get(200)).toBeGreaterThan(CALLS / 20);
  expect([...statuses.keys()].filter((status) => status >= 500)).toEqual([]);
  expect(await shown()).toEqual(before);
  expect(adapter.calls).toEqual(done);
  expect((await api.get("intent")).text).toBe(intent);
  expect((await api.get("/api/state")).body.freeze).toBeNull();
  const kinds = new Set<string>();
  for (let after = head; ;) {
    const { entries, next: more } = (await api.get(`audit?after=${after}&limit=1000`)).body;
    for (const { id, event_type, detail } of entries) {
      const { actor, authenticated, decision, status, proposer } = JSON.parse(detail);
      expect([actor, authenticated], `entry ${id}`).toEqual([AGENT, "agent"]);
      if (event_type === "change_proposed") expect([status, proposer]).toEqual(["pending_consent", AGENT]);
      if (event_type === "consent_decision") expect(decision).toBe("withdrawn");
      kinds.add(event_type);
      after = id;
    }
    if (!more) break;
  }
  expect([...kinds].sort()).toEqual(["change_proposed", "consent_decision"].filter((kind) => kinds.has(kind)));
  expect(kinds).toContain("change_proposed");
  for (const collection of ["tasks", "chat", "actions", "kpi"] as const)
    expect(await deps.store.list(collection, { limit: 1 }), collection).toEqual([]);
});
