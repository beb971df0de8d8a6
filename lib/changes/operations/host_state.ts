/** Questions to the host: what it shows of a change, and what a target holds. */
import { canonicalJson } from "../../kit/canonical_json.ts";
import { runWithTimeLimit, STEP_LIMIT_MS, Unanswered } from "../../kit/time_limit.ts";
import type { Change } from "../rules/change.ts";
import type { Operation } from "../rules/command.ts";
import { expireReadings } from "../target_readings.ts";
import type { HostState, ProductAdapter, Staged } from "./adapter_port.ts";

/** Returns the name of the system that carries a change; of a plan those of all. */
export const nameSystem = ({ name }: ProductAdapter, { places }: Change): string =>
  [...new Set(places?.map(({ system }) => system))].join(", ") || name;

/** The moment up to which a step may begin, when it must have ended by `end`; milliseconds. */
export const computeLastStart = (end: number): number => end - STEP_LIMIT_MS;

/** Returns true where the host shows nothing of a change, or shows it as taken back. */
export const isGone = (host: HostState | undefined): boolean => host === "rolled_back" || host === "absent";

/**
 * Returns true where the host shows an operation as done. A host that shows nothing of a change may have lost it, and what was there
 * before with it: `mayBeGone` where that is no wonder.
 */
export function isDone(operation: Operation, host: HostState, mayBeGone = false): boolean {
  if (operation === "apply") return host === "applied";
  return host === "rolled_back" || (host === "absent" && mayBeGone);
}

/** Returns what the host shows of a change; undefined when it cannot be asked. */
export const tryReadHostState = (adapter: ProductAdapter, change: Change): Promise<HostState | undefined> =>
  runWithTimeLimit((signal) => adapter.verify(change, signal)).catch(() => undefined);

/** Returns what a change's target holds on the host; undefined when the adapter cannot say. */
export async function tryReadTargetValue(
  adapter: ProductAdapter,
  change: Change,
): Promise<{ value: unknown } | null | undefined> {
  const current = await runWithTimeLimit(async (signal) => adapter.held?.(change, signal)).catch(() => undefined);
  return current && current.value === undefined ? undefined : current;
}

/**
 * Returns what the host shows of a change that should be in force: `unknown` where its target holds another value than the
 * change sets, and `absent` where it holds nothing; undefined when it cannot be asked. An adapter may show a change as applied because it was
 * applied once: after a restore of an older backup the host knows changes that the log does not.
 */
export async function tryReadStateInForce(
  adapter: ProductAdapter,
  change: Change & Staged,
): Promise<HostState | undefined> {
  const host = await tryReadHostState(adapter, change);
  // The split of a rollout is compared by the adapter alone.
  if (host !== "applied" || change.value === undefined || change.stages) return host;
  const current = await tryReadTargetValue(adapter, change);
  if (current === null) return "absent";
  return current === undefined || holdsValue(current, change) ? host : "unknown";
}

/** Returns true where a target holds what a change sets; what is no JSON is something else. */
function holdsValue(current: { value: unknown }, change: Change): boolean {
  try {
    return canonicalJson(current.value) === canonicalJson(change.value);
  } catch {
    return false;
  }
}

/** Returns what the host shows of a change; `unknown` when it cannot be asked. */
export const readHostState = async (adapter: ProductAdapter, change: Change): Promise<HostState> =>
  (await tryReadHostState(adapter, change)) ?? "unknown";

/** Operands of one target system that are set as one transaction, or one alone; of an apply in its order. */
export function groupOperands<E extends { operand: Change }>(adapter: ProductAdapter, ends: readonly E[]): E[][] {
  const groups = new Map<unknown, E[]>();
  for (const end of ends) {
    const together = ends.length > 1 ? adapter.setsTogether?.(end.operand) : undefined;
    const key = together ?? end;
    groups.set(key, [...(groups.get(key) ?? []), end]);
  }
  return [...groups.values()];
}

/** Takes back on the host what it shows of changes of one group. What cannot be taken back together is taken back one by one. */
export async function undoOnHost(adapter: ProductAdapter, operands: readonly Change[]): Promise<HostState[]> {
  const undo = (one: Change): Promise<unknown> =>
    runWithTimeLimit((signal) => adapter.rollback(one, signal)).catch(() => undefined);
  const [first] = operands as [Change];
  if (operands.length === 1) await undo(first);
  else
    await runWithTimeLimit((signal) => adapter.rollbackAll!([...operands].reverse(), signal)).catch(
      async (error: unknown) => {
        if (!(error instanceof Unanswered)) for (const one of [...operands].reverse()) await undo(one);
      },
    );
  for (const one of operands) expireReadings(adapter, one);
  return Promise.all(operands.map((one) => readHostState(adapter, one)));
}
