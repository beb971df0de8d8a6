/**
 * Sends random hostile requests with an agent's secret: every method and path, tools that do not exist, names of other
 * principals, contradicting headers, batches and malformed bodies. None of them may approve, apply or set anything.
 */
import { expect, test, vi } from "vitest";
import { app, endpoints } from "../../handlers/index.ts";
import { client } from "../support/client.ts";
import { openDeps } from "../support/deps.ts";
import { rounds } from "../support/run_length.ts";
import { AGENT, asAgent, makeMessage, withAgents } from "../support/mcp.ts";
import { seededIntegers } from "../support/seeded_integers.ts";
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
/** A method that occurs several times is chosen more often; so are the types below. */
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

/** Returns a generator of hostile requests, which are the same for the same seed. */
function adversary(seed: number, ids: readonly string[]) {
  const below = seededIntegers(seed);
  const pick = <T>(choices: readonly T[]): T => choices[below(choices.length)]!;
  /** Returns the value in one of three calls, and otherwise no members. */
  const sometimes = <T extends object>(value: T): T | object => (below(3) === 0 ? value : {});

  const headers = (): Record<string, string> => ({
    ...asAgent,
    ...(below(2) === 0 ? { "content-type": pick(TYPES) } : { "content-type": "application/json" }),
    ...sometimes(WITH_TOKEN),
    ...sometimes({ "x-person": pick(["ana", "bo", AGENT]) }),
    ...sometimes({ "x-http-method-override": pick(["POST", "PUT", "approve"]), "x-method-override": "POST" }),
    ...sometimes({ "x-original-url": "/api/product/approve", "x-rewrite-url": "/api/product/apply" }),
    ...sometimes({ "idempotency-key": `k${below(5)}` }),
    ...sometimes({ "if-match": pick(["*", '"1"', '"2"']) }),
    ...sometimes({ "mcp-session-id": "x", "last-event-id": "1", "x-forwarded-user": "ana" }),
    ...sometimes({ "x-forwarded-host": "evil.example", forwarded: "for=ana" }),
    ...(below(8) === 0 ? { origin: pick(["null", "https://evil.example", ORIGIN]) } : {}),
    // Two Authorization headers, joined by the server into one, which is not the agent's secret. With the valid admin token
    // such a request would be the admin's, so this replaces the token.
    ...(below(12) === 0 ? { authorization: `${asAgent.authorization}, Basic x`, "x-svc-admin-token": "wrong" } : {}),
  });

  const fields = (): Record<string, unknown> => ({
    ...sometimes({ change_id: pick(ids) }),
    ...sometimes({ change_id: pick(ids) }),
    ...sometimes({ ...PROPOSAL, target: `ui.${below(400)}` }),
    ...sometimes({ approver: pick(NAMES) }),
    ...sometimes({ proposer: pick(NAMES) }),
    ...sometimes({ actor: pick(NAMES), asked_by: pick(NAMES) }),
    ...sometimes({ status: "approved", approvals: [{ approver: "ana", note: "", at: "2026-01-01T00:00:00Z" }] }),
    ...sometimes({ tier: pick(["minor", "major"]), affected_users: 1, risk: "low", reversible: true }),
    ...sometimes({ emergency: true, note: "now", dry_run: pick([true, false]) }),
    ...sometimes({ proof: { type: "ssh", signature: "x" }, required_approvers: 0 }),
    ...sometimes({
      csat: 1,
      nrr_quarterly: 9,
      action: pick(["cycle", "rebuild", "run_next_task"]),
      message: "approve it",
    }),
    ...sometimes({ title: "approve it", rating: 5, task_id: "x", q: "x", query: "x" }),
  });

  /** Returns a body with the fields: as JSON, as a form, or damaged. */
  const makeBody = (parameters: Record<string, unknown>): string => {
    const json = JSON.stringify(parameters);
    const form = new URLSearchParams(
      Object.entries(parameters).map(([key, value]) => [
        key,
        typeof value === "string" ? value : JSON.stringify(value),
      ]),
    ).toString();
    return pick([
      json,
      json,
      form,
      `[${json}]`,
      `[${json},${json}]`,
      json.replace("{", '{"__proto__":{"agent":null,"approver":"ana"},'),
      json.replace("{", '{"constructor":{"prototype":{"agents":true}},'),
      // A repeated name, if the fields have a change_id.
      json.replace("{", '{"change_id":"x",'),
      json.slice(0, -1),
      `\uFEFF${json}`,
      `${form}&approver=bo&_method=POST`,
      below(10) === 0 ? json.replace("{", `{"pad":"${"x".repeat(70_000)}",`) : json,
    ]);
  };

  const overHttp = (): Request => {
    // The response of /api/events is an endless stream.
    const { path } = pick(endpoints.filter(({ path }) => path !== "/api/events"));
    const filledPath = path
      .replace(":change_id", pick(ids))
      .replace(/:\w+/, pick(["x", "..%2f..%2fapprove", "__proto__"]));
    const method = pick(METHODS);
    const query =
      below(4) === 0 ? `?${new URLSearchParams({ change_id: pick(ids), approver: "ana", _method: "POST" })}` : "";
    const suffix = pick(["", "", "", "", "/", "//", "%2e", ";approve"]);
    const body = method === "GET" || method === "HEAD" ? null : makeBody(fields());
    return new Request(ORIGIN + filledPath + suffix + query, { method, headers: headers(), body });
  };

  const overMcp = (): Request => {
    const method = pick(RPC_METHODS);
    const name = pick(TOOLS);
    const { params, headers: mcpHeaders } = makeMessage(pick(["modern", "legacy"] as const), method, {
      name,
      arguments: fields(),
    });
    const message = { jsonrpc: "2.0", id: pick([1, "x", null, 1.5, { a: 1 }]), method, params };
    const wellFormed = below(2) === 0;
    if (wellFormed) message.id = 1;
    // Without characters that `Headers` does not take, such as the full-width letter of `NAMES`.
    const requestHeaders = Object.fromEntries(
      Object.entries(
        wellFormed
          ? { ...asAgent, "content-type": "application/json", ...mcpHeaders }
          : { ...mcpHeaders, ...headers() },
      ).map(([header, value]) => [header, value.replaceAll(/[^\x20-\x7e]/g, "")]),
    );
    const body = wellFormed ? JSON.stringify(message) : makeBody(message);
    return new Request(`${ORIGIN}/mcp`, {
      method: wellFormed ? "POST" : pick(["POST", "POST", "PUT", "DELETE"]),
      headers: requestHeaders,
      body,
    });
  };

  /** Returns a request that would succeed if a single check were missing. */
  const nearlyRight = (): Request => {
    const extra = { ...sometimes(WITH_TOKEN), ...sometimes({ "x-person": pick(["ana", "bo"]) }) };
    const proposal = { ...PROPOSAL, target: `ui.${below(400)}`, ...(below(2) === 0 ? { proposer: pick(NAMES) } : {}) };
    const [action, parameters] = pick<readonly [string, object]>([
      ["propose", proposal],
      ["withdraw", { change_id: pick(ids), ...sometimes({ proposer: pick(NAMES) }) }],
      ["approve", { change_id: pick(ids), approver: pick(NAMES), ...sometimes({ emergency: true, note: "now" }) }],
      ["deny", { change_id: pick(ids), approver: pick(NAMES) }],
      ["apply", { change_id: pick(ids) }],
      ["rollback", { change_id: pick(ids) }],
      ["kpi", { csat: 1 }],
      ["freeze", { actor: "ana" }],
    ]);
    if (below(2) === 0) {
      const requestHeaders = { ...asAgent, ...extra, "content-type": "application/json" };
      return new Request(`${ORIGIN}/api/product/${action}`, {
        method: "POST",
        headers: requestHeaders,
        body: JSON.stringify(parameters),
      });
    }
    const { params, headers: mcpHeaders } = makeMessage("modern", "tools/call", {
      name: `${action}_change`,
      arguments: parameters,
    });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    return new Request(`${ORIGIN}/mcp`, {
      method: "POST",
      headers: { ...asAgent, ...extra, "content-type": "application/json", ...mcpHeaders },
      body,
    });
  };

  return (): Request => pick([overHttp, overMcp, nearlyRight])();
}

test(`${CALLS} hostile calls with an agent's secret approve, apply and set nothing`, async () => {
  const adapter = scriptedAdapter();
  const minor = { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50, max_risk: "low" };
  const break_glass = { approvers: ["ana"], required: 1, review_hours: 72 };
  const deps = await openDeps({
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
  // The changes that no call may alter. `own` is not one of them: the agent may withdraw its pending change.
  const protectedIds = [...others, approvedOwn];
  const readChanges = () =>
    Promise.all(protectedIds.map(async (id) => (await deps.store.get("changes", id))!.value.change));
  const before = await readChanges();
  const lastEntryId = (await api.audit("?limit=1")).at(-1)!.id as number;
  const callsBefore = [...adapter.calls];
  const intent = (await api.get("intent")).text;

  const nextRequest = adversary(7, [own, ...protectedIds, "nope", "__proto__"]);
  const statuses = new Map<number, number>();
  for (let call = 0; call < CALLS; call++) {
    const { status, body } = await fetch(nextRequest());
    await body?.cancel();
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }

  // Some calls must succeed; otherwise the test proves nothing.
  expect(statuses.get(200)).toBeGreaterThan(CALLS / 20);
  expect([...statuses.keys()].filter((status) => status >= 500)).toEqual([]);
  expect(await readChanges()).toEqual(before);
  expect(adapter.calls).toEqual(callsBefore);
  expect((await api.get("intent")).text).toBe(intent);
  expect((await api.get("/api/state")).body.freeze).toBeNull();
  const kinds = new Set<string>();
  for (let after = lastEntryId; ;) {
    const { entries, next: more } = (await api.get(`audit?after=${after}&limit=1000`)).body;
    for (const { id, event_type, detail } of entries) {
      const { actor, authenticated, decision, status, proposer } = JSON.parse(detail);
      expect([actor, authenticated], `entry ${id}`).toEqual([AGENT, "agent"]);
      // Also if it asked for the tier minor: the intent lets no agent's change be minor.
      if (event_type === "change_proposed") expect([status, proposer]).toEqual(["pending_consent", AGENT]);
      if (event_type === "consent_decision") expect(decision).toBe("withdrawn");
      kinds.add(event_type);
      after = id;
    }
    if (!more) break;
  }
  expect([...kinds].filter((kind) => !["change_proposed", "consent_decision"].includes(kind))).toEqual([]);
  expect(kinds).toContain("change_proposed");
  for (const collection of ["tasks", "chat", "actions", "kpi"] as const)
    expect(await deps.store.list(collection, { limit: 1 }), collection).toEqual([]);
});
