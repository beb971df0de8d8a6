/** Reads the host: the state that it shows of a change, and the value of a target. */
import { canonicalJson } from "../../kit/canonical_json.ts";
import { runWithTimeLimit, STEP_LIMIT_MS, Unanswered } from "../../kit/time_limit.ts";
import type { Change } from "../rules/change.ts";
import type { Operation } from "../rules/command.ts";
import { expireReadings } from "../target_readings.ts";
import type { HostState, ProductAdapter, ChangeWithStages } from "./adapter_port.ts";

/** Returns the name of the system that carries a change; for a plan, the names of all its systems. */
export const nameSystem = ({ name }: ProductAdapter, { places }: Change): string =>
  [...new Set(places?.map(({ system }) => system))].join(", ") || name;

/** Computes the latest time at which a step may begin in order to end by `end`; milliseconds. */
export const computeLastStart = (end: number): number => end - STEP_LIMIT_MS;

/** Returns true if the host shows nothing of a change, or shows it as rolled back. */
export const isGone = (host: HostState | undefined): boolean => host === "rolled_back" || host === "absent";

/**
 * Returns true if the host shows an operation as done. A host that shows nothing of a change may have lost the change together with
 * the value before it; `mayBeGone` means that showing nothing is expected after this rollback.
 */
export function isDone(operation: Operation, host: HostState, mayBeGone = false): boolean {
  if (operation === "apply") return host === "applied";
  return host === "rolled_back" || (host === "absent" && mayBeGone);
}

/** Reads the host's state of a change; undefined if the host does not answer. */
export const tryReadHostState = (adapter: ProductAdapter, change: Change): Promise<HostState | undefined> =>
  runWithTimeLimit((signal) => adapter.verify(change, signal)).catch(() => undefined);

/** Reads the current value of a change's target; `null` for no value, undefined if the adapter cannot say. */
export async function tryReadTargetValue(
  adapter: ProductAdapter,
  change: Change,
): Promise<{ value: unknown } | null | undefined> {
  const current = await runWithTimeLimit(async (signal) => adapter.held?.(change, signal)).catch(() => undefined);
  return current && current.value === undefined ? undefined : current;
}

/**
 * Reads the host's state of a change that should be in force, and compares the value: `unknown` if the target holds another
 * value, `absent` if it holds none; undefined if the host does not answer. The state alone is not enough: an adapter may show
 * `applied` for a change that was applied once and has been overwritten since.
 */
export async function tryReadStateInForce(
  adapter: ProductAdapter,
  change: Change & ChangeWithStages,
): Promise<HostState | undefined> {
  const host = await tryReadHostState(adapter, change);
  // The split of a rollout is compared by the adapter alone.
  if (host !== "applied" || change.value === undefined || change.stages) return host;
  const current = await tryReadTargetValue(adapter, change);
  if (current === null) return "absent";
  return current === undefined || holdsValue(current, change) ? host : "unknown";
}

/** Returns true if a target holds the value that a change sets; false for a value that is no JSON. */
function holdsValue(current: { value: unknown }, change: Change): boolean {
  try {
    return canonicalJson(current.value) === canonicalJson(change.value);
  } catch {
    return false;
  }
}

/** Reads the host's state of a change; `unknown` if the host does not answer. */
export const readHostState = async (adapter: ProductAdapter, change: Change): Promise<HostState> =>
  (await tryReadHostState(adapter, change)) ?? "unknown";

/** Groups the operands (entries of a plan) that a target system sets as one transaction; others form groups of one. */
export function groupOperands<Item extends { operand: Change }>(
  adapter: ProductAdapter,
  items: readonly Item[],
): Item[][] {
  const groups = new Map<unknown, Item[]>();
  for (const item of items) {
    const groupName = items.length > 1 ? adapter.setsTogether?.(item.operand) : undefined;
    const key = groupName ?? item;
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups.values()];
}

/**
 * Rolls back a group of operands together or, if that fails, one by one. If the host did not answer, they are left as they are,
 * since the rollback may still take effect. Returns the host's states afterwards.
 */
export async function undoOnHost(adapter: ProductAdapter, operands: readonly Change[]): Promise<HostState[]> {
  const tryRollBack = (operand: Change): Promise<unknown> =>
    runWithTimeLimit((signal) => adapter.rollback(operand, signal)).catch(() => undefined);
  const reversed = [...operands].reverse();
  if (operands.length === 1) await tryRollBack(operands[0]!);
  else
    await runWithTimeLimit((signal) => adapter.rollbackAll!(reversed, signal)).catch(async (error: unknown) => {
      if (!(error instanceof Unanswered)) for (const operand of reversed) await tryRollBack(operand);
    });
  for (const operand of operands) expireReadings(adapter, operand);
  return Promise.all(operands.map((operand) => readHostState(adapter, operand)));
}
