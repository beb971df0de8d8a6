/**
 * Facts about a rollback from the log, with which an adapter compares its own stored data. An operand is what an adapter sets for
 * one target: the change itself, or an entry of a plan, with an id of its own.
 */
import { findTargetFacts } from "../rules/event.ts";
import type { Change } from "../rules/change.ts";
import { pickContent } from "../rules/content.ts";
import { hasNoValue } from "../rules/list_entries.ts";
import { toChangeId, listOperands } from "../rules/operands.ts";
import { findApplied, toChange, type ChangeRecord, listDifferences } from "../rules/record.ts";
import { type TargetKey, isSameTarget } from "../rules/target_key.ts";
import type { Evidence } from "../evidence.ts";
import type { ReadRollbackFacts, RollbackFacts } from "../operations/adapter_port.ts";
import type { LogDeps } from "../run_with_log.ts";
import { readRecord } from "../records.ts";
import { type Ledger, readLedger } from "./ledger.ts";

/** Sources of the facts for one request of an adapter. */
interface FactSources {
  deps: LogDeps;
  ledger: Ledger;
  evidence: Evidence;
}

/** Creates the function by which adapters read rollback facts. It uses the log alone, so edited records have no effect. */
export const createRollbackFactsReader =
  (deps: LogDeps): ReadRollbackFacts =>
  (operandId) =>
    readLedger(deps, async (ledger, evidence) => {
      const sources = { deps, ledger, evidence };
      const change = await readChange(sources, toChangeId(operandId));
      const operand = change && findOperand(change, operandId);
      if (!operand) return undefined;
      const superseded = await isSuperseded(sources, operand);
      if (superseded === undefined) return undefined;
      const digest = await findReplacedDigest(sources, change, operand);
      return { superseded, ...digest, isApplied: (id) => isApplied(deps, id) };
    });

const findOperand = ({ change }: ChangeRecord, operandId: string): Change | undefined =>
  listOperands(change).find(({ change_id }) => change_id === operandId);

const isApplied = (deps: LogDeps, operandId: string): Promise<boolean> =>
  readLedger(deps, async (ledger, evidence) => {
    const record = await readChange({ deps, ledger, evidence }, toChangeId(operandId));
    const operand = record && findOperand(record, operandId);
    return operand !== undefined && isAppliedTo(record!, operand);
  });

/** Returns true if a change is applied, and no rollback of its plan has restored this target. */
const isAppliedTo = (record: ChangeRecord, target: TargetKey): boolean =>
  record.change.status === "applied" && findApplied(record, target)?.rolled_back_at === undefined;

/** Returns true if a later change that sets a value is applied over an operand; undefined if the log does not say. */
async function isSuperseded(sources: FactSources, operand: Change): Promise<boolean | undefined> {
  for (let id = await sources.ledger.owner(operand); id !== null && id !== toChangeId(operand.change_id);) {
    const later = await readChange(sources, id);
    const previous = later && (await findOwnerBefore(sources, later, operand));
    if (!later || previous === undefined) return undefined;
    const setsTarget = isSameLocation(later.change, operand) && !setsNoValue(sources, later);
    if (isAppliedTo(later, operand) && setsTarget) return true;
    id = previous;
  }
  return false;
}

/** Finds the digest of the value that an operand replaced; replaced changes that are no longer applied are skipped. */
async function findReplacedDigest(
  sources: FactSources,
  change: ChangeRecord,
  operand: Change,
): Promise<Pick<RollbackFacts, "digest">> {
  for (let current = change; current.applied;) {
    const id = await findOwnerBefore(sources, current, operand);
    if (id === undefined) return {};
    const previous = id === null ? undefined : await readChange(sources, id);
    if (!previous || (isAppliedTo(previous, operand) && !setsNoValue(sources, previous)))
      return { digest: findApplied(current, operand)?.previous_digest };
    // The value at another location says nothing about the value here.
    if (!isSameLocation(previous.change, operand)) return {};
    current = previous;
  }
  return {};
}

/**
 * Returns true if a change sets the target of an operand at the same location: the configuration may route two changes of a target
 * to different systems.
 */
function isSameLocation(change: Change, operand: Change): boolean {
  const other = listOperands(change).find((candidate) => isSameTarget(candidate, operand));
  return other !== undefined && other.places?.[0]?.place === operand.places?.[0]?.place;
}

/** Finds the owner of a target before an apply; undefined if the log does not say. */
async function findOwnerBefore(
  { evidence }: FactSources,
  { applied }: ChangeRecord,
  target: TargetKey,
): Promise<string | null | undefined> {
  const apply = applied ? await evidence.entry(applied.entry) : undefined;
  return apply && findTargetFacts(apply, target)?.target_held;
}

/** Reads a change: its state from the entries, its content as stored, without comparing the content. */
async function readChange({ deps, ledger }: FactSources, changeId: string): Promise<ChangeRecord | undefined> {
  const stored = await readRecord(deps.store, changeId);
  const state = await ledger.state(changeId, stored);
  return state && { ...state, change: toChange(state, stored && pickContent(stored.change)) };
}

/** Returns true if a change sets no value and its content matches its digest. */
const setsNoValue = ({ deps: { sha256 } }: FactSources, record: ChangeRecord): boolean =>
  hasNoValue(record.change) && !listDifferences(record, record, sha256).includes("content");
