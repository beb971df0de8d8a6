/** The scope of an agent: the changes that it may propose. */
import { AppError } from "../../kit/errors.ts";
import type { ProposeInput } from "./command.ts";
import { isInScope, listGovernedEntries } from "./list_entries.ts";
import { findAgentLimits, type Principals } from "./principals.ts";

/** Requires that the intent allows an agent to propose a change. Errors: 403 `agent_may_not`. */
export function requireAgentScope(agent: string, input: ProposeInput, intent: { principals: Principals }): void {
  const { kinds, targets, tenants } = findAgentLimits(agent, intent);
  const reject = (field: string, description: string, allowed: readonly string[] = []): never => {
    throw new AppError("agent_may_not", `${agent} may not propose ${description}, only ${allowed.join(", ")}`, {
      agent,
      field,
    });
  };
  if (kinds && !kinds.includes(input.kind)) reject("kind", `a change of the kind ${input.kind}`, kinds);
  for (const entry of listGovernedEntries(input)) {
    if (!isInScope(entry, { targets })) reject("target", `a change of ${entry.target}`, targets);
    if (!isInScope(entry, { tenants })) reject("tenant_id", `a change for tenant ${entry.tenant_id}`, tenants);
  }
}

/** Returns true if the intent allows an agent to propose changes of a kind on a target. */
export function isInAgentScope(
  agent: string,
  { kind, ...key }: Pick<ProposeInput, "kind" | "target" | "tenant_id">,
  intent: { principals: Principals },
): boolean {
  const { kinds, targets, tenants } = findAgentLimits(agent, intent);
  return (!kinds || kinds.includes(kind)) && isInScope(key, { targets, tenants });
}
