/** Levels of autonomy by the kinds of proposer and decider. */
import { expect, test } from "vitest";
import { classifyProposer } from "../../../../lib/changes/rules/actor.ts";
import { classifyAutonomy } from "../../../../lib/changes/rules/autonomy_level.ts";

const at = "2026-01-10T00:00:00.000Z";
test.each([
  ["a human proposed and decided", "pat", "ana", undefined, "L1"],
  ["no proposer is named", null, "ana", undefined, "L1"],
  ["a human's proposal 7 days after a model's draft", "pat", "ana", "2026-01-03T00:00:00.000Z", "L2"],
  ["a human's proposal a moment later than that", "pat", "ana", "2026-01-02T23:59:59.999Z", "L1"],
  ["a human's proposal before the draft", "pat", "ana", "2026-01-10T00:00:00.001Z", "L1"],
  ["a model's proposal", "llm:m", "ana", undefined, "L3"],
  ["a model's second draft", "llm:m", "ana", "2026-01-09T00:00:00.000Z", "L3"],
  ["a peer's proposal", "peer:acme-crm@berlin", "ana", undefined, "L3"],
  ["a peer's proposal after a model's draft", "Peer:acme-crm@berlin", "ana", "2026-01-09T00:00:00.000Z", "L3"],
  ["a name that is similar to a prefix", "peer", "ana", undefined, "L1"],
  ["an agent's proposal under any caller", "agent:pricing", "ana", undefined, "L3"],
  ["a minor change of a peer", "peer:acme-crm@berlin", "policy:minor", undefined, "L4"],
  ["a minor change of a human", "pat", "policy:minor", undefined, "L4"],
  ["a model's draft that expired", "llm:m", "policy:expiry", undefined, null],
  ["a proposal that expired", "pat", "policy:expiry", undefined, null],
])("level of %s: %s, %s, draft %s is %s", (_, proposer, approver, draft, level) => {
  const change = { proposer, proposer_kind: classifyProposer(proposer), created_at: at };
  const decision = { approver, authenticated: "claimed", namesPrincipals: false } as const;
  expect(classifyAutonomy(change, decision, draft === undefined ? undefined : { change_id: "c", at: draft })).toBe(
    level,
  );
});

test.each([
  ["both are known", "person", "proxy", "L1"],
  ["the proposer is merely claimed", "unknown", "proxy", "unattributed"],
  ["the decider is merely claimed", "person", "claimed", "unattributed"],
  ["the decider is named by a holder of the token", "person", "token", "unattributed"],
  ["no name is known", "unknown", null, "unattributed"],
  ["an agent's proposal", "agent", "claimed", "L3"],
  ["a model's proposal", "model", "token", "L3"],
  ["an agent that withdraws its own", "agent", "agent", null],
] as const)("where the intent has principals, %s: %s, %s is %s", (_, proposer_kind, authenticated, level) => {
  const change = { proposer: "pat", proposer_kind, created_at: at };
  expect(classifyAutonomy(change, { approver: "ana", authenticated, namesPrincipals: true }, undefined)).toBe(level);
  const claimed = classifyAutonomy(change, { approver: "ana", authenticated, namesPrincipals: false }, undefined);
  expect(claimed).toBe(level === "unattributed" ? "L1" : level);
});
