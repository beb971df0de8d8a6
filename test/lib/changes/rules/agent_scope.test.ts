/** The scope of an agent, field by field. */
import { expect, test } from "vitest";
import { AppError } from "../../../../lib/kit/errors.ts";
import { isInAgentScope, requireAgentScope } from "../../../../lib/changes/rules/agent_scope.ts";
import { makeIntent } from "../../../support/intents.ts";

const AGENT = "agent:one";
const PROPOSAL = { tenant_id: "t1", kind: "config", target: "ui.a" } as const;

const intentWith = (may?: object) =>
  makeIntent({ principals: { [AGENT]: { kind: "agent", token_sha256: "ab".repeat(32), may } } }).intent;

/** Returns the rejected field and the error's message; undefined for a proposal in the agent's scope. */
function findScopeError(may: object | undefined, fields: object): string | undefined {
  try {
    requireAgentScope(AGENT, { ...PROPOSAL, summary: "", ...fields }, intentWith(may));
  } catch (error) {
    const { code, message, details } = error as AppError;
    expect([code, details["agent"]]).toEqual(["agent_may_not", AGENT]);
    return `${details["field"]}: ${message}`;
  }
  return undefined;
}

test.each<[string, object | undefined, object, string | undefined]>([
  ["without limits", undefined, {}, undefined],
  ["with limits of counts only", { max_open: 1 }, {}, undefined],
  ["of a listed kind", { kinds: ["config"] }, {}, undefined],
  ["of a listed target", { targets: ["price.*", "UI.*"] }, {}, undefined],
  ["of a listed tenant", { tenants: ["t1", "t2"] }, {}, undefined],
  [
    "of another kind",
    { kinds: ["feature_flag", "workflow"] },
    {},
    "kind: agent:one may not propose a change of the kind config, only feature_flag, workflow",
  ],
  [
    "of another target",
    { targets: ["price.*", "ui.b"] },
    {},
    "target: agent:one may not propose a change of ui.a, only price.*, ui.b",
  ],
  [
    "of another tenant",
    { tenants: ["t2"] },
    {},
    "tenant_id: agent:one may not propose a change for tenant t1, only t2",
  ],
  [
    "of another spelling of a tenant",
    { tenants: ["t1"] },
    { tenant_id: "T1" },
    "tenant_id: agent:one may not propose a change for tenant T1, only t1",
  ],
])("a proposal %s is in the scope or rejected", (_, may, fields, problem) => {
  expect(findScopeError(may, fields)).toBe(problem);
  expect(isInAgentScope(AGENT, { ...PROPOSAL, ...fields }, intentWith(may))).toBe(problem === undefined);
});
