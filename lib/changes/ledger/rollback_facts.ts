/** Facts about a rollback from the log: an adapter compares what it has stored with them. */
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

/** The log during one question of an adapter. */
interface Log {
  deps: LogDeps;
  ledger: Ledger;
  evidence: Evidence;
}

/** Returns the function that answers adapters from the log alone: an edited record changes nothing. */
export const createRollbackFactsReader =
  (deps: LogDeps): ReadRollbackFacts =>
  (operandId) =>
    readLedger(deps, async (ledger, evidence) => {
      const log = { deps, ledger, evidence };
      const change = await readChange(log, toChangeId(operandId));
      const operand = change && findOperand(change, operandId);
      if (!operand) return undefined;
      const superseded = await isSuperseded(log, operand);
      if (superseded === undefined) return undefined;
      const digest = await findReplacedDigest(log, change, operand);
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

/** Returns true for a change that is applied and of which a rollback has not taken back a target. */
const isAppliedTo = (record: ChangeRecord, target: TargetKey): boolean =>
  record.change.status === "applied" && findApplied(record, target)?.rolled_back_at === undefined;

/** Returns whether a change that sets a value was applied over an operand and still is. Each apply names the change it was over. */
async function isSuperseded(log: Log, operand: Change): Promise<boolean | undefined> {
  for (let id = await log.ledger.owner(operand); id !== null && id !== toChangeId(operand.change_id);) {
    const later = await readChange(log, id);
    const previous = later && (await findOwnerBefore(log, later, operand));
    if (!later || previous === undefined) return undefined;
    const setsTarget = isSameLocation(later.change, operand) && !setsNoValue(log, later);
    if (isAppliedTo(later, operand) && setsTarget) return true;
    id = previous;
  }
  return false;
}

/** Returns the digest of the value that an operand replaced, past changes under it that are no longer applied. */
async function findReplacedDigest(
  log: Log,
  change: ChangeRecord,
  operand: Change,
): Promise<Pick<RollbackFacts, "digest">> {
  for (let current = change; current.applied;) {
    const id = await findOwnerBefore(log, current, operand);
    if (id === undefined) return {};
    const previous = id === null ? undefined : await readChange(log, id);
    if (!previous || (isAppliedTo(previous, operand) && !setsNoValue(log, previous)))
      return { digest: findApplied(current, operand)?.previous_digest };
    // The value of another place says nothing of this one.
    if (!isSameLocation(previous.change, operand)) return {};
    current = previous;
  }
  return {};
}

/** Returns true where a change sets the target of an operand at its place: a configuration may route them to different systems. */
function isSameLocation(change: Change, operand: Change): boolean {
  const other = listOperands(change).find((one) => isSameTarget(one, operand));
  return other !== undefined && other.places?.[0]?.place === operand.places?.[0]?.place;
}

/** Returns the owner of a target before an apply; undefined where the log does not say. */
async function findOwnerBefore(
  { evidence }: Log,
  { applied }: ChangeRecord,
  target: TargetKey,
): Promise<string | null | undefined> {
  const apply = applied ? await evidence.entry(applied.entry) : undefined;
  return apply && findTargetFacts(apply, target)?.target_held;
}

/** Returns a change as its entries make it, with the content that is stored of it, whatever that is. */
async function readChange({ deps, ledger }: Log, changeId: string): Promise<ChangeRecord | undefined> {
  const stored = await readRecord(deps.store, changeId);
  const state = await ledger.state(changeId, stored);
  return state && { ...state, change: toChange(state, stored && pickContent(stored.change)) };
}

/** Returns whether a change leaves its target's value alone, by the content that its digest was made of. */
const setsNoValue = ({ deps: { sha256 } }: Log, record: ChangeRecord): boolean =>
  hasNoValue(record.change) && !listDifferences(record, record, sha256).includes("content");
