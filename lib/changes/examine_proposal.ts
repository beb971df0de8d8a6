/** Checks that target systems can hold the values of a proposal, and reads the values that it would replace. */
import { AppError } from "../kit/errors.ts";
import type { ChangesDeps } from "./deps.ts";
import { readLedger } from "./ledger/ledger.ts";
import { findRolloutProblem, NO_SPLIT, NoTargetSystem, type ProductAdapter } from "./operations/adapter_port.ts";
import { readUnownedTargets, type SystemReading } from "./judge_values.ts";
import { listLimitRules } from "./mandates/limit_rules.ts";
import { findCarrier } from "./locations.ts";
import type { Content } from "./rules/content.ts";
import { type ChangeEntry, listEntries } from "./rules/list_entries.ts";
import { describeSplitProblem, readSplit } from "../rollout/split_value.ts";
import { examineTargets } from "./target_readings.ts";

type ProposedChange = ChangeEntry & Pick<Content, "kind"> & { stages?: Content["stages"] };

/** Findings of the target systems about a proposal. */
export interface Findings {
  /**
   * Digests of the values to be replaced, for a proposal that may need no person's approval; `null` if they cannot be read now.
   */
  seen?: string[] | null | undefined;
  /** A system cannot hold the value: 400 `value_not_allowed`. */
  not_allowed?: AppError | undefined;
  /** Readings of targets with limited steps whose value the log does not show. */
  readings?: readonly SystemReading[] | undefined;
}

type StatedProposal = ProposedChange & { tier?: string | undefined };

/**
 * Checks the values of a proposal. Reads its targets if their steps are limited, if the intent or a mandate may approve it, or if a
 * system judges new values by the current ones.
 */
export async function examineProposal(deps: ChangesDeps, proposal: StatedProposal, agent?: string): Promise<Findings> {
  const policy = deps.product?.intent.policy;
  const limits = agent !== undefined && policy?.mandates ? await listLimitRules(deps.store, agent) : undefined;
  const rules = [...(policy?.targets ?? []), ...(limits ?? [])];
  const readings = await readUnownedTargets(deps, proposal, [], rules);
  return {
    ...(await examineOnSystems(deps, proposal, limits !== undefined)),
    ...(readings.length > 0 && { readings }),
  };
}

async function examineOnSystems(
  deps: ChangesDeps,
  proposal: StatedProposal,
  mayBeMandated: boolean,
): Promise<Findings> {
  const adapter = deps.product?.adapter;
  const needsReading = proposal.tier === "minor" || mayBeMandated;
  try {
    const not_allowed = checkValues(adapter, proposal);
    const isJudged = judgesByReading(adapter, proposal);
    if (not_allowed || !adapter?.reader || !(needsReading || isJudged)) return { not_allowed };
    const spelled = await readLedger(deps, (ledger) => ledger.respell(proposal));
    // Reads again: the consent of the intent or a mandate records the current values, and an apply may have changed them.
    const examined = await examineTargets(deps, spelled, true);
    const rejected = examined?.find(({ problem }) => problem !== undefined);
    return {
      ...(needsReading && { seen: examined?.map(({ observed }) => observed.digest) }),
      not_allowed: rejected && createNotAllowed(rejected.target, rejected.problem!),
    };
  } catch (error) {
    // Filing the proposal rejects it with this error.
    if (error instanceof AppError || error instanceof NoTargetSystem) return {};
    return needsReading ? { seen: null } : {};
  }
}

type Adapter = ProductAdapter | undefined;

/** Lists the entries of a change that the adapter sets, or that are gates for other tools. */
function listSystemEntries(adapter: Adapter, { kind, stages, ...change }: ProposedChange) {
  const entries = listEntries(change).map((entry) => ({ ...entry, kind, stages }));
  if (!adapter) return [];
  return entries.filter(
    (entry) => adapter.isGate?.(entry) || (entry.value !== undefined && findCarrier(adapter, entry)),
  );
}

const judgesByReading = (adapter: Adapter, change: ProposedChange): boolean =>
  listSystemEntries(adapter, change).some((entry) => adapter!.judgesByReading?.(entry));

function checkValues(adapter: Adapter, change: ProposedChange): AppError | undefined {
  for (const { target, value } of listEntries(change)) {
    const problem = describeSplitProblem(value);
    if (problem !== undefined) return createNotAllowed(target, problem);
  }
  for (const entry of listSystemEntries(adapter, change)) {
    const isUnsupportedSplit = readSplit(entry.value) && !adapter!.holdsSplits?.(entry);
    const problem = findRolloutProblem(adapter!, entry) ?? (isUnsupportedSplit ? NO_SPLIT : adapter!.check?.(entry));
    if (problem !== undefined) return createNotAllowed(entry.target, problem);
  }
  return undefined;
}

const createNotAllowed = (target: string, problem: string): AppError =>
  new AppError("value_not_allowed", `${target} cannot hold the value: ${problem}`);
