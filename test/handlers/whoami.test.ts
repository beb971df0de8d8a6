/** GET /api/whoami: always an answer, and a true one. */
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
const token = { "x-svc-admin-token": ADMIN };
const agent = { authorization: `Bearer ${AGENT}` };
const AGENTS = {
  ...NOBODY,
  name: "agent:a",
  kind: "agent",
  authenticated: "agent",
  may: ["read", "propose", "withdraw"],
};

test.each<[string, TestOptions, Record<string, string>, object]>([
  ["nobody, where nothing is protected", {}, {}, { ...NOBODY, may: ALL }],
  ["nobody, where there is a token", { adminToken: ADMIN }, {}, { ...NOBODY, may: ["read"] }],
  ["nobody, where strangers reach the service", { allowAnonymousWrites: false }, {}, { ...NOBODY, may: ["read"] }],
  ["nobody, where reads are protected", { adminToken: ADMIN, protectReads: true }, {}, { ...NOBODY, may: [] }],
  ["without an intent", { intent: null }, {}, { ...NOBODY, may: ["read"] }],
  [
    "who holds the token",
    { adminToken: ADMIN, protectReads: true },
    token,
    { ...NOBODY, authenticated: "token", may: ALL },
  ],
  ["who holds another", { adminToken: ADMIN }, { "x-svc-admin-token": "x" }, { ...NOBODY, may: ["read"] }],
  ["a reader", { protectReads: true, readToken: "r" }, { "x-svc-read-token": "r" }, { ...NOBODY, may: ALL }],
  ["a person", { identityHeader: "x-person" }, { "x-person": " ana " }, { ...ANA, may: ALL }],
  [
    "a person without the token",
    { identityHeader: "x-person", adminToken: ADMIN, protectReads: true },
    { "x-person": "ana" },
    { ...ANA, may: ["read"] },
  ],
  [
    "a person who is no approver",
    { identityHeader: "x-person", intent: { principals, policy: { approvers: ["bo"] } } },
    { "x-person": "ana" },
    { ...ANA, may: ALL.filter((act) => !["approve", "deny"].includes(act)) },
  ],
  ["nobody behind a proxy", { identityHeader: "x-person" }, {}, { ...NOBODY, may: ["read", "kpi"] }],
  ["an agent", { adminToken: ADMIN, protectReads: true }, agent, AGENTS],
  [
    "an agent with every other credential",
    { identityHeader: "x-person" },
    { ...agent, ...token, "x-person": "ana" },
    AGENTS,
  ],
  ["a bearer that is nobody's", {}, { authorization: "Bearer x" }, { ...NOBODY, may: [] }],
])("%s", async (_, options, headers, expected) => {
  const api = await service({ intent: { principals }, ...options });
  expect(await api.get("/api/whoami", headers)).toMatchObject({ status: 200, body: expected });
});
