/** Routes each change to the target system that covers its target, kind and tenant. */
import { findDrift } from "../changes/operations/find_drift.ts";
import { hasOverlap } from "../changes/rules/pattern_overlap.ts";
import {
  findRolloutProblem,
  NoTargetSystem,
  type ProductAdapter,
  type TargetsInForce,
} from "../changes/operations/adapter_port.ts";
import { normalizeTarget } from "../changes/rules/target_key.ts";
import { findWildcard } from "../changes/rules/target_pattern.ts";
import type { Entry } from "./port.ts";

/** A target system with the changes that are routed to it. */
export interface RoutedSystem {
  name: string;
  /** Patterns of targets. */
  match: readonly string[];
  /** Kinds of changes; absent for all. */
  kinds?: readonly string[] | undefined;
  /** Tenants that the system serves; absent for all. */
  tenants?: readonly string[] | undefined;
  adapter: ProductAdapter;
}

/**
 * Replaces the wildcard of a pattern by `rest`. A pattern without wildcard is returned if it equals `rest`. Undefined otherwise,
 * and for a pattern with several wildcards.
 */
function fillPattern(pattern: string, rest: string): string | undefined {
  const [prefix, suffix, ...furtherParts] = pattern.split("*") as [string, ...string[]];
  if (suffix === undefined) return normalizeTarget(prefix) === normalizeTarget(rest) ? prefix : undefined;
  return furtherParts.length > 0 ? undefined : prefix + rest + suffix;
}

/** Creates the adapter over several systems. `configuration` is recorded in the log before the first change under it. */
export function routingAdapter(systems: readonly RoutedSystem[], configuration?: TargetsInForce): ProductAdapter {
  const findSystem = ({ target, kind, tenant_id }: Pick<Entry, "tenant_id" | "target" | "kind">): RoutedSystem => {
    const covering = systems.filter(
      ({ match, kinds }) => findWildcard(target, match) !== undefined && (!kinds || kinds.includes(kind)),
    );
    const [first] = covering;
    if (!first) throw new NoTargetSystem(`no target system covers ${target} of kind ${kind}`);
    // Several systems may have the same patterns and serve different tenants.
    const sameMatch = covering.filter(({ match }) => isSameMatch(match, first.match));
    const system = sameMatch.find(({ tenants }) => !tenants || tenants.includes(tenant_id));
    if (system) return system;
    const names = sameMatch.map(({ name }) => name).join(", ");
    throw new NoTargetSystem(`the target systems of ${target} (${names}) do not serve the tenant ${tenant_id}`);
  };
  const adapterFor = (change: Parameters<typeof findSystem>[0]): ProductAdapter => findSystem(change).adapter;

  return {
    name: systems.length === 1 ? systems[0]!.name : "targets",
    configuration,
    systems: systems.map(({ name, match, adapter }) => ({ name, match, adapter })),
    gates: systems.flatMap(({ match, adapter }) => (adapter.isGate ? match : [])),
    githubGates: systems.flatMap(({ adapter }) => adapter.githubGates ?? []),
    locate(entry) {
      const { name, adapter } = findSystem(entry);
      return { system: name, place: adapter.locate?.(entry).place ?? name };
    },
    reach(scope) {
      const reached = systems.filter(({ match, kinds, tenants }) => {
        const hasTarget = match.some((pattern) => scope.targets.some((target) => hasOverlap(pattern, target)));
        const hasKind = !kinds || kinds.some((kind) => scope.kinds.includes(kind));
        const { tenants: scopeTenants } = scope;
        const hasTenant = !tenants || scopeTenants === "all" || tenants.some((tenant) => scopeTenants.includes(tenant));
        return hasTarget && hasKind && hasTenant;
      });
      return reached.map(({ name }) => name);
    },
    counterparts(entry, system) {
      const rest = findWildcard(entry.target, findSystem(entry).match)!;
      const patterns = systems.filter(({ name }) => name === system).flatMap(({ match }) => match);
      const targets = patterns.flatMap((pattern) => fillPattern(pattern, rest) ?? []);
      return targets.filter((target) => findSystem({ ...entry, target }).name === system);
    },
    carries: (change) => adapterFor(change).carries?.(change) ?? true,
    isGate: (entry) => adapterFor(entry).isGate?.(entry) ?? false,
    isCumulative: (entry) => adapterFor(entry).isCumulative?.(entry) ?? false,
    check: (entry) => findRolloutProblem(adapterFor(entry), entry) ?? adapterFor(entry).check?.(entry),
    holdsSplits: (entry) => adapterFor(entry).holdsSplits?.(entry) ?? false,
    judgesByReading: (entry) => adapterFor(entry).judgesByReading?.(entry) ?? false,
    reader: (entry) => adapterFor(entry).reader?.(entry),
    async validate(change, signal) {
      const reason = findRolloutProblem(adapterFor(change), change);
      return reason === undefined ? adapterFor(change).validate(change, signal) : { ok: false, reason };
    },
    apply: async (change, signal, expected) => adapterFor(change).apply(change, signal, expected),
    verify: async (change, signal) => adapterFor(change).verify(change, signal),
    rollback: async (change, signal, readFacts, overDrift) =>
      adapterFor(change).rollback(change, signal, readFacts, overDrift),
    setsTogether(entry) {
      const { name, adapter } = findSystem(entry);
      return adapter.setsTogether?.(entry) === undefined ? undefined : name;
    },
    applyAll: async (changes, ...rest) => adapterFor(changes[0]!).applyAll!(changes, ...rest),
    rollbackAll: async (changes, ...rest) => adapterFor(changes[0]!).rollbackAll!(changes, ...rest),
    findDrift: async (change, ...rest) => findDrift(adapterFor(change), change, ...rest),
    canRestore: (change) => adapterFor(change).canRestore?.(change) ?? false,
    restore: async (change, id, signal, readFacts) => adapterFor(change).restore!(change, id, signal, readFacts),
    findRestore: async (change, id, signal) =>
      (await adapterFor(change).findRestore?.(change, id, signal)) ?? "not_done",
    setStage: async (change, step, signal, readFacts) => adapterFor(change).setStage!(change, step, signal, readFacts),
    findStage: async (change, step, signal) =>
      (await adapterFor(change).findStage?.(change, step, signal)) ?? "not_done",
    held: async (change, signal) => adapterFor(change).held?.(change, signal),
    forget: async (change, signal) => adapterFor(change).forget?.(change, signal),
    async ping(signal) {
      await Promise.allSettled(systems.map(({ adapter }) => adapter.ping?.(signal)));
    },
    async findProblem() {
      // Every system is checked, so that each logs its own problem.
      const problems = await Promise.all(
        systems.map(async ({ name, adapter }) => ({ name, problem: await adapter.findProblem?.() })),
      );
      const first = problems.find(({ problem }) => problem);
      if (!first) return null;
      return systems.length === 1 ? first.problem! : `${first.name}: ${first.problem}`;
    },
  };
}

/** Compares two lists of patterns, ignoring order and case. */
const isSameMatch = (a: readonly string[], b: readonly string[]): boolean =>
  JSON.stringify(a.map((pattern) => pattern.toLowerCase()).sort()) ===
  JSON.stringify(b.map((pattern) => pattern.toLowerCase()).sort());
