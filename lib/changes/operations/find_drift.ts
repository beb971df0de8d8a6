/** Finds drift before the rollback of a plan: if another program set one of its targets, none of them is rolled back. */
import { canonicalJson } from "../../kit/canonical_json.ts";
import { fastestSha256 } from "../../kit/platform.ts";
import type { Change } from "../rules/change.ts";
import type { ProductAdapter, ReadRollbackFacts, TargetDrifted } from "./adapter_port.ts";

/**
 * Returns the expected and the current value of a target that holds neither an operand's value nor the one before it; undefined
 * without drift, or if the host does not say. Without its own `findDrift`, the adapter's value is compared with the log.
 */
export async function findDrift(
  adapter: ProductAdapter,
  operand: Change,
  signal: AbortSignal,
  readFacts?: ReadRollbackFacts,
): Promise<TargetDrifted["values"] | undefined> {
  if (adapter.findDrift) return adapter.findDrift(operand, signal, readFacts);
  if (operand.value === undefined || adapter.isCumulative?.(operand)) return undefined;
  const host = await adapter.verify(operand, signal);
  const current = host === "rolled_back" ? undefined : await adapter.held?.(operand, signal);
  if (!current || current.value === undefined) return undefined;
  const text = canonicalJson(current.value);
  if (text === canonicalJson(operand.value)) return undefined;
  const facts = await readFacts?.(operand.change_id);
  // No drift: the log does not say, a later change is in force, or the target holds the value before the change again.
  if (facts?.superseded !== false || facts.digest === fastestSha256()(text)) return undefined;
  return { expected: operand.value, held: current.value };
}
