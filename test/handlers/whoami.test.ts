/** Tests the name, kind and allowed actions that GET /api/whoami returns for each kind of caller. */
import { expect, test } from "vitest";
import { portableSha256 } from "../../lib/kit/platform.ts";
import type { TestOptions } from "../support/deps.ts";
import { service } from "../support/service.ts";

const ADMIN = "correct horse battery staple";
const AGENT = "an agent's own secret";
const principals = {
  ana: { kind: "person" },
  "agent:a": { kind: "agent", token_sha256: portableSha256(AGENT) },
};
const ALL = ["read", "propose", "withdraw", "approve", "deny", "apply", "rollback", "kpi"];
const NOBODY = { name: null, kind: "unknown", authenticated: null, keys: [] };
const ANA = { name: "ana", kind: "person", authenticated: "proxy", keys: [] };
const adminHeader = { "x-svc-admin-token": ADMIN };
const agentHeader = { authorization: `Bearer ${AGENT}` };
const AGENT_A = {
  ...NOBODY,
  name: "agent:a",
  kind: "agent",
  authenticated: "agent",
  may: ["read", "propose", "withdraw"],
};

test.each<[caller: string, options: TestOptions, headers: Record<string, string>, expected: object]>([
  ["an unauthenticated caller, where nothing is protected", {}, {}, { ...NOBODY, may: ALL }],
  ["an unauthenticated caller, where an admin token is set", { adminToken: ADMIN }, {}, { ...NOBODY, may: ["read"] }],
  [
    "an unauthenticated caller, without anonymous writes",
    { allowAnonymousWrites: false },
    {},
    { ...NOBODY, may: ["read"] },
  ],
  [
    "an unauthenticated caller, where reads are protected",
    { adminToken: ADMIN, protectReads: true },
    {},
    { ...NOBODY, may: [] },
  ],
  ["a caller of a service without an intent", { intent: null }, {}, { ...NOBODY, may: ["read"] }],
  [
    "a caller with the admin token",
    { adminToken: ADMIN, protectReads: true },
    adminHeader,
    { ...NOBODY, authenticated: "token", may: ALL },
  ],
  [
    "a caller with a wrong admin token",
    { adminToken: ADMIN },
    { "x-svc-admin-token": "x" },
    { ...NOBODY, may: ["read"] },
  ],
  // Without an admin token anybody may write.
  [
    "a caller with the read token",
    { protectReads: true, readToken: "r" },
    { "x-svc-read-token": "r" },
    { ...NOBODY, may: ALL },
  ],
  ["a person", { identityHeader: "x-person" }, { "x-person": " ana " }, { ...ANA, may: ALL }],
  [
    "a person without the admin token",
    { identityHeader: "x-person", adminToken: ADMIN, protectReads: true },
    { "x-person": "ana" },
    { ...ANA, may: ["read"] },
  ],
  [
    "a person who is no approver",
    { identityHeader: "x-person", intent: { principals, policy: { approvers: ["bo"] } } },
    { "x-person": "ana" },
    { ...ANA, may: ALL.filter((action) => !["approve", "deny"].includes(action)) },
  ],
  // A proxy requires a person for decisions; programs behind it may still feed KPIs.
  ["a caller whom the proxy does not name", { identityHeader: "x-person" }, {}, { ...NOBODY, may: ["read", "kpi"] }],
  ["an agent", { adminToken: ADMIN, protectReads: true }, agentHeader, AGENT_A],
  [
    "an agent with every other credential",
    { identityHeader: "x-person" },
    { ...agentHeader, ...adminHeader, "x-person": "ana" },
    AGENT_A,
  ],
  // Once the intent lists agents, an unknown bearer token is an error everywhere.
  ["an unknown bearer token", {}, { authorization: "Bearer x" }, { ...NOBODY, may: [] }],
])("%s", async (_, options, headers, expected) => {
  const api = await service({ intent: { principals }, ...options });
  expect(await api.get("/api/whoami", headers)).toMatchObject({ status: 200, body: expected });
});
