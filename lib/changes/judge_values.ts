/** Judges the values of a proposal or an apply by the intent: by schemas, and by steps from the values that targets held. */
import { HOUR_MS } from "../kit/days.ts";
import { AppError } from "../kit/errors.ts";
import { runWithTimeLimit } from "../kit/time_limit.ts";
import type { ChangesDeps } from "./deps.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { readLedger } from "./ledger/ledger.ts";
import { type ProductAdapter, ignoreUncovered } from "./operations/adapter_port.ts";
import { findCarrier } from "./locations.ts";
import type { Content } from "./rules/content.ts";
import { parseDetail } from "./rules/event.ts";
import type { ChangeEntry } from "./rules/list_entries.ts";
import type { Policy } from "./rules/intent.ts";
import type { ChangeRecord } from "./rules/record.ts";
import { type TargetKey, isSameTarget } from "./rules/target_key.ts";
import {
  type StepBaseResult,
  type LimitedChange,
  listMembers,
  listSteps,
  requireSchemas,
  requireStep,
  type LimitedStep,
  type StepBase,
} from "./rules/value_limits.ts";
import { validateValue } from "./validate_value.ts";

/** The reading of a target whose value the log does not show: the value, none, or `failed` if it cannot be read now. */
export type SystemReading = TargetKey & ({ value?: unknown } | { failed: true });

/** Facts that values are judged by, in addition to the ledger. */
export interface ValueFacts {
  policy: Pick<Policy, "targets">;
  /** RFC 3339; the hours of a limit end at this time. */
  at: string;
  readings?: readonly SystemReading[] | undefined;
  /** Numbers that the proposal recorded. */
  recorded?: readonly StepBase[] | undefined;
}

export interface ValueJudgement {
  /** 400 `value_not_allowed`. */
  error?: AppError | undefined;
  /** The first target that has never held a number. */
  first?: string | undefined;
  /** The first target that held no number at the beginning of its limit's hours. */
  absentAtStart?: string | undefined;
  /** Numbers that targets hold without any applied change, to be recorded. */
  step_base?: readonly StepBase[] | undefined;
}

/** Judges the values of a change. Returns 400 `value_not_allowed` in `error`, and throws other errors. */
export async function judgeValues(ledger: Ledger, change: LimitedChange, facts: ValueFacts): Promise<ValueJudgement> {
  const steps = listSteps(change, facts.policy);
  let first: string | undefined;
  let absentAtStart: string | undefined;
  try {
    requireSchemas(change, facts.policy, validateValue);
    for (const step of steps) {
      const base = await findBase(ledger, step, facts);
      requireStep(step, base);
      if (base === "first") first ??= step.entry.target;
      else if ("absentAtStart" in base) absentAtStart ??= step.entry.target;
    }
  } catch (error) {
    if (error instanceof AppError && error.code === "value_not_allowed") return { error };
    throw error;
  }
  const step_base = await listUnownedBases(ledger, steps, facts);
  return { first, absentAtStart, ...(step_base.length > 0 && { step_base }) };
}

const UNREADABLE = { unknown: "its target system cannot be read now; try again later" };

/**
 * Finds the numbers that a step is compared with: those that the log shows for the limit's hours, else those that were recorded or
 * read from the target system, else the last ones that were ever set.
 */
export async function findBase(ledger: Ledger, step: LimitedStep, facts: ValueFacts): Promise<StepBaseResult> {
  const { entry, limit, member } = step;
  const moment = new Date(Date.parse(facts.at) - limit.hours * HOUR_MS).toISOString();
  for await (const value of ledger.valuesSince(entry, moment)) {
    // A value without the member is no base: the next value is tried.
    const base = "readNumbers" in value ? findRecordedBase(value.readNumbers, step) : toBase(value, member);
    if (base) return "absentAtStart" in value && typeof base === "object" ? { ...base, absentAtStart: true } : base;
  }
  const currentBase = findRecordedBase(facts.recorded ?? [], step) ?? findSystemBase(step, facts);
  if (currentBase) return currentBase;
  const lastValue = await ledger.lastValue(entry);
  const lastBase = lastValue && toBase(lastValue, member);
  return typeof lastBase === "object" ? { ...lastBase, absentAtStart: true } : (lastBase ?? "first");
}

function findSystemBase({ entry, member }: LimitedStep, { readings = [] }: ValueFacts): StepBaseResult | undefined {
  const reading = readings.find((candidate) => isSameTarget(candidate, entry));
  if (!reading) return undefined;
  return "failed" in reading ? UNREADABLE : toBase(reading, member);
}

const findRecordedBase = (bases: readonly StepBase[], { entry, member }: LimitedStep): StepBaseResult | undefined => {
  const recorded = bases.find((base) => base.member === member && isSameTarget(base, entry));
  return recorded && recorded.numbers.length > 0 ? { numbers: recorded.numbers } : undefined;
};

/** Returns the numbers in a value as a base, or why they are unknown; undefined if the value has no such member. */
function toBase(value: { value?: unknown } | { unknown: string }, member: string | null): StepBaseResult | undefined {
  if ("unknown" in value) return value;
  const numbers = listMembers(value.value, member);
  if (numbers.length === 0) return undefined;
  return numbers.every((number) => typeof number === "number")
    ? { numbers }
    : { unknown: "it held no number before; change the rule in the intent first" };
}

/** Lists the numbers that targets hold although no applied change set them; `numbers` is empty for a target that holds none. */
async function listUnownedBases(ledger: Ledger, steps: readonly LimitedStep[], facts: ValueFacts): Promise<StepBase[]> {
  const unowned: StepBase[] = [];
  for (const step of steps) {
    const { entry, member } = step;
    const { tenant_id, target } = entry;
    if (unowned.some((base) => base.member === member && isSameTarget(base, entry))) continue;
    if (await ledger.currentValue(entry)) continue;
    const lastValue = await ledger.lastValue(entry);
    const bases = [
      findRecordedBase(facts.recorded ?? [], step),
      findSystemBase(step, facts),
      lastValue && toBase(lastValue, member),
    ];
    const numbers = bases.flatMap((base) => (typeof base === "object" && "numbers" in base ? [base.numbers] : []))[0];
    unowned.push({ tenant_id, target, member, numbers: numbers ?? [] });
  }
  return unowned;
}

/** Reads the numbers in a change's targets that its proposal recorded. */
export async function readRecordedBases(ledger: Ledger, record: ChangeRecord): Promise<readonly StepBase[]> {
  const [proposal] = await ledger.entries(record.change.change_id, record);
  return parseDetail(proposal?.detail ?? "").step_base ?? [];
}

type ProposedChange = ChangeEntry & Pick<Content, "kind">;

/** Reads targets with limited steps whose value the log does not show; empty if the adapter cannot read targets. */
export async function readUnownedTargets(
  deps: ChangesDeps,
  change: ProposedChange,
  recorded: readonly StepBase[] = [],
  rules: Policy["targets"] = deps.product?.intent.policy.targets ?? [],
): Promise<SystemReading[]> {
  const { product } = deps;
  const steps = product ? listSteps(change, { targets: rules }) : [];
  const adapter = product?.adapter;
  if (steps.length === 0 || !adapter?.reader) return [];
  const readings: SystemReading[] = [];
  for (const { entry } of steps) {
    const { tenant_id, target } = entry;
    if ([...readings, ...recorded].some((base) => isSameTarget(base, entry))) continue;
    const readTarget = findReader(adapter, { ...entry, kind: change.kind });
    if (!readTarget || (await readLedger(deps, (ledger) => ledger.currentValue(entry)))) continue;
    const result = await runWithTimeLimit(readTarget).then(
      ({ value }) => (value === undefined ? {} : { value }),
      () => ({ failed: true as const }),
    );
    readings.push({ tenant_id, target, ...result });
  }
  return readings;
}

const findReader = (adapter: ProductAdapter, entry: ProposedChange) =>
  ignoreUncovered(() => findCarrier(adapter, entry) && adapter.reader!(entry));
