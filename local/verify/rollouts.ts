/**
 * Verifies rollouts by their entries: no step is skipped, and each decision is the one that the rule `cs1` makes from the
 * recorded totals. The rule needs the plan, which is in the content of the change.
 */
import { type Cells, decideRollout } from "../../lib/rollout/decide_rollout.ts";
import type { Plan } from "../../lib/rollout/plan.ts";
import { type Decision, type Reading, RULE } from "../../lib/rollout/rule.ts";
import { type FedTotals, toCells } from "../../lib/rollout/samples.ts";
import type { Finding } from "./chain.ts";
import { decodeUtf8, parseDetail, readManifestHash } from "./entry_detail.ts";
import { stringOrUndefined, type JsonObject, isObject, isIntegerAtLeast } from "./json.ts";
import type { Entry } from "./line.ts";
import { parseMoment } from "./parse_moment.ts";
import { matchesContent, type NamedStages, readNamedStages } from "./named_stages.ts";
import { isFiniteNumber, readPlan } from "./rollout_plan.ts";
import { normalizeName } from "./policy.ts";

/** The actor of decisions that the service makes by the rule. */
const SERVICE = "policy:stages";
const HOUR_MS = 3600 * 1000;
const OTHER_STAGES = "its stages are not those of its content";
/** Fraction by which a number of users may fall below the largest so far. */
const MAX_FALL = 0.01;
/** Time by which totals may be later than their entry: the service accepts totals so far ahead of its clock. */
const MAX_AHEAD_MS = 5 * 60_000;

/** Largest numbers of users of a KPI in a step so far, and the time of its newest totals with users. */
interface LargestTotals {
  as_of: number;
  treated: number;
  control: number;
}

/** State of a rollout after some of its entries. */
interface Rollout {
  named: NamedStages;
  /** Undefined where the export or certificate does not contain the plan. */
  plan: Plan | undefined;
  isRunning: boolean;
  step: number;
  /** Id of the entry with which the step began. */
  beganWith: number;
  /** When the step began, in milliseconds. */
  beganAtMs: number;
  /** Id of the entry with which a person holds it; undefined: no person holds it. */
  heldBy?: number | undefined;
  /** True while a mismatch of its totals holds it. */
  isMismatched: boolean;
  /** Id of the entry with which its rule ordered a rollback. */
  stoppedBy?: number | undefined;
  /** Totals from which it counts since the last resume after a mismatch, and that entry's id. */
  baseline?: { id: number; cells: Cells } | undefined;
  largest: Map<string, LargestTotals>;
  /** Entries that name another intent than the entry before them. */
  intents: { id: number; manifest: string }[];
}

/** Creates a check that takes the entries of a log in their order. */
export function createRolloutCheck() {
  const rollouts = new Map<string, Rollout>();
  const unreadRollouts = new Set<string>();
  let newestIntent = 0;

  const findProblem = (entry: Entry, detail: JsonObject): string | undefined => {
    const change = decodeUtf8(entry.changeId);
    const rollout = rollouts.get(change);
    if (entry.eventType === "intent_in_force") newestIntent = entry.id;
    if (entry.eventType === "change_proposed") {
      const { stages } = detail;
      const named = readNamedStages(stages);
      if (named) rollouts.set(change, { ...newRollout(named), intents: addIntent([], entry, detail) });
      return named || stages === undefined ? undefined : "its stages do not have rising shares and a fed_by";
    }
    if (rollout) addIntent(rollout.intents, entry, detail);
    if (entry.eventType === "change_applied") return beginRollout(rollout, entry, detail);
    if (entry.eventType === "change_rolled_back") {
      const isOrdered = rollout?.stoppedBy !== undefined;
      if (rollout) rollout.isRunning = false;
      return [detail["by"], detail["actor"]].includes(SERVICE) && !isOrdered ? NOT_ORDERED : undefined;
    }
    if (!entry.eventType.startsWith("stage_")) return undefined;
    if (!rollout?.isRunning) return "its change is not being rolled out";
    if (!rollout.plan) unreadRollouts.add(change);
    return judgeStep(rollout, entry, detail, newestIntent);
  };

  return {
    /** Takes the content of a change, which has the plan; returns why it does not match the entry of the proposal. */
    addContent(changeId: string, content: JsonObject): string | undefined {
      const rollout = rollouts.get(changeId);
      if (rollout) rollout.plan = readPlan(content["stages"]);
      if (!matchesContent(rollout?.named, content)) return OTHER_STAGES;
      return rollout && !rollout.plan ? "the stages of its content are not a valid rollout" : undefined;
    },
    check(entry: Entry, line: number): Finding | undefined {
      const message = findProblem(entry, parseDetail(entry));
      return message === undefined ? undefined : { line, entry: entry.id, rule: "form", message };
    },
    /** Returns the number of rollouts whose decisions could not be computed again without their plan. */
    countUnread: (): number => unreadRollouts.size,
  };
}

const NOT_ORDERED = `it was rolled back by ${SERVICE}, but the rule of its rollout did not order that`;

const newRollout = (named: NamedStages): Rollout => ({
  ...{ named, plan: undefined, isRunning: false, step: 0, beganWith: 0, beganAtMs: NaN, isMismatched: false },
  ...{ heldBy: undefined, stoppedBy: undefined, baseline: undefined, largest: new Map(), intents: [] },
});

/** Adds the intent that an entry names, unless the entry before names the same. */
function addIntent(intents: Rollout["intents"], { id }: Entry, detail: JsonObject): Rollout["intents"] {
  const manifest = readManifestHash(detail);
  if (intents.at(-1)?.manifest !== manifest) intents.push({ id, manifest });
  return intents;
}

function beginRollout(rollout: Rollout | undefined, entry: Entry, { stage }: JsonObject): string | undefined {
  if (!rollout) return stage === undefined ? undefined : "it has a stage, but its change is not a rollout";
  const { named, plan, intents } = rollout;
  Object.assign(rollout, { ...newRollout(named), plan, intents, isRunning: true, beganWith: entry.id });
  rollout.beganAtMs = parseMoment(entry.timestamp);
  const isFirst = isObject(stage) && stage["step"] === 0 && stage["share"] === named.shares[0];
  return isFirst ? undefined : "its stage is not the first step of its rollout";
}

/** The decision that an entry states, by event type; a resume decides nothing. */
const DECISIONS: ReadonlyMap<string, string> = new Map([
  ["stage_advanced", "advance"],
  ["stage_held", "hold"],
  ["stage_stopped", "rollback"],
]);

function judgeStep(rollout: Rollout, entry: Entry, detail: JsonObject, newestIntent: number): string | undefined {
  const { step, named } = rollout;
  const { shares } = named;
  if (detail["step"] !== step) return `its step is not ${step}, the current step of the rollout`;
  if (step >= shares.length) return "the rollout has already reached all users";
  if (detail["decision"] !== DECISIONS.get(entry.eventType)) return "its decision does not match its event_type";
  const totals = readTotals(detail["totals"]);
  if (totals === undefined) return "its totals are malformed";
  const totalsProblem = findTotalsProblem(rollout, totals, entry);
  if (totalsProblem !== undefined) return totalsProblem;
  const record: StepRecord = { detail, totals };
  switch (entry.eventType) {
    case "stage_advanced":
      return judgeAdvance(rollout, entry, record, newestIntent);
    case "stage_stopped": {
      if (rollout.stoppedBy !== undefined) return "the rollout has already been stopped";
      if (detail["actor"] !== SERVICE) return `its actor is not ${SERVICE}, which alone stops a rollout`;
      rollout.stoppedBy = entry.id;
      return findDecisionProblem(rollout, entry, record, ({ decision }) => decision === "rollback");
    }
    case "stage_resumed":
      return judgeResume(rollout, entry, record);
    case "stage_held":
      return judgeHold(rollout, entry, record);
    default:
      return "its event_type is not a known event of a rollout";
  }
}

/** An entry's detail, and its totals. */
interface StepRecord {
  detail: JsonObject;
  totals: readonly FedTotals[];
}

const NO_PERSON = "its actor is not a person, and its action needs one";

/** Checks that the actor of an entry is a person, not the service, whose actors begin with `policy:`. */
const isByPerson = ({ actor }: JsonObject): boolean => typeof actor === "string" && !actor.startsWith("policy:");

/**
 * Checks that the intent has changed since an advance was ordered: then a person's signature no longer counts. `ordered`: id of
 * the next entry at the time of the order; `newestIntent`: id of the newest entry that put an intent in force.
 */
const isUnderOtherIntent = (
  { intents }: Rollout,
  { manifest_hash }: JsonObject,
  ordered: number,
  newestIntent: number,
): boolean => newestIntent >= ordered || intents.findLast(({ id }) => id < ordered)?.manifest !== manifest_hash;

function judgeAdvance(rollout: Rollout, entry: Entry, record: StepRecord, newestIntent: number): string | undefined {
  const { step, heldBy, stoppedBy, isMismatched, beganWith } = rollout;
  const { shares } = rollout.named;
  const { to, share, ordered, reason } = record.detail;
  // After the last step everybody has the value, which a share of null states.
  if (to !== step + 1 || share !== (shares[step + 1] ?? null)) return "its to and share are not those of the next step";
  if (isMismatched) return "it advances a rollout that a mismatch holds";
  if (ordered !== undefined && !(isIntegerAtLeast(ordered, beganWith + 1) && ordered <= entry.id))
    return "its ordered is before its step began, or after itself";
  const isOrderedBefore = (stop: number | undefined): boolean =>
    stop === undefined || (ordered !== undefined && ordered <= stop);
  if (!isOrderedBefore(heldBy)) return "it advances a rollout that a person holds";
  if (!isOrderedBefore(stoppedBy)) return "it advances a rollout that its rule has stopped";
  const isByHand = reason === "manual";
  // An advance that was ordered under an earlier intent names no actor.
  const isUnnamed = record.detail["actor"] === null && ordered !== undefined;
  if (
    isByHand &&
    !isByPerson(record.detail) &&
    !(isUnnamed && isUnderOtherIntent(rollout, record.detail, ordered, newestIntent))
  )
    return NO_PERSON;
  const problem = findDecisionProblem(rollout, entry, record, (decided, plan) =>
    isByHand
      ? decided.reason === "manual" && Number(record.detail["hours"]) >= plan.steps[step]!.min_hours
      : decided.decision === "advance" && decided.reason === reason,
  );
  // Also after a problem, so that the entries of the next step are judged by it.
  Object.assign(rollout, { step: step + 1, beganWith: entry.id, beganAtMs: parseMoment(entry.timestamp) });
  return problem;
}

function judgeResume(rollout: Rollout, entry: Entry, { detail, totals }: StepRecord): string | undefined {
  const { heldBy, isMismatched, largest } = rollout;
  if (heldBy === undefined && !isMismatched) return "it resumes a rollout that is not held";
  if (!isByPerson(detail)) return NO_PERSON;
  const isMissingTotals = [...largest].some(([key]) => !totals.some((row) => rowKey(row) === key));
  if (isMismatched && isMissingTotals) return "its totals lack a KPI or step of earlier entries";
  if (!isMismatched && totals.length > 0) return "it has totals, but resumes no mismatch";
  if (isMismatched) rollout.baseline = { id: entry.id, cells: toCells(totals) };
  rollout.heldBy = undefined;
  rollout.isMismatched = false;
  return undefined;
}

/** Reasons for a hold that the rule itself gives. */
const RULE_HOLDS: ReadonlySet<unknown> = new Set(["no_data", "manual", "min_hours", "not_yet"]);

function judgeHold(rollout: Rollout, entry: Entry, record: StepRecord): string | undefined {
  const { detail } = record;
  const { reason, rule } = detail;
  if (stringOrUndefined(reason) === undefined) return "its reason is missing";
  if (reason === "by_hand" && rule === undefined) {
    if (rollout.heldBy !== undefined) return "a person already holds the rollout";
    rollout.heldBy = entry.id;
    return undefined;
  }
  const wasMismatched = rollout.isMismatched;
  if (reason === "mismatch") rollout.isMismatched = true;
  if (rule === undefined) return reason === "mismatch" ? "its reason is mismatch, but its rule is missing" : undefined;
  return findDecisionProblem(rollout, entry, record, (decided) => {
    if (decided.decision === "rollback") return false;
    // A mismatch holds until a person resumes, also when newer totals no longer show it.
    if (reason === "mismatch") return wasMismatched || decided.reason === reason;
    // Any other reason, for example a freeze, comes from outside the rule.
    return RULE_HOLDS.has(reason) ? decided.reason === reason : decided.reason !== "mismatch";
  });
}

const rowKey = ({ step, kpi }: Pick<FedTotals, "step" | "kpi">): string => `${step} ${kpi}`;

/** Reads the totals of an entry: `[]` where it has none, undefined where they are not totals. */
function readTotals(totals: unknown): readonly FedTotals[] | undefined {
  if (totals === undefined) return [];
  // `n`: users; `sum`: total of their values; other members are further sums, which some kinds of KPI have.
  const isArm = (arm: unknown): boolean =>
    isObject(arm) &&
    isFiniteNumber(arm["n"]) &&
    arm["n"] >= 0 &&
    isFiniteNumber(arm["sum"]) &&
    Object.values(arm).every(isFiniteNumber);
  const isTime = (time: unknown): boolean => typeof time === "string" && !Number.isNaN(parseMoment(time));
  const isRow = (row: unknown): boolean =>
    isObject(row) &&
    isIntegerAtLeast(row["step"], 0) &&
    [row["kpi"], row["by"]].every((text) => stringOrUndefined(text) !== undefined) &&
    [row["as_of"], row["at"]].every(isTime) &&
    [row["treated"], row["control"]].every(isArm);
  return Array.isArray(totals) && totals.every(isRow) ? (totals as FedTotals[]) : undefined;
}

/** Explains why totals contradict earlier ones or their entry; adds them to the largest where they do not. */
function findTotalsProblem(
  { step, named, largest }: Rollout,
  totals: readonly FedTotals[],
  { timestamp }: Entry,
): string | undefined {
  const latest = parseMoment(timestamp) + MAX_AHEAD_MS;
  for (const row of totals) {
    const { kpi, treated, control } = row;
    const [as_of, at] = [parseMoment(row.as_of), parseMoment(row.at)];
    if (row.step > step) return `its totals are of step ${row.step}, which the rollout has not reached`;
    if (normalizeName(row.by) !== normalizeName(named.fed_by))
      return `its totals of ${kpi} are not from the fed_by of its stages`;
    if (!(Math.max(as_of, at) <= latest)) return `its totals of ${kpi} are later than the entry`;
    const before = largest.get(rowKey(row));
    const minUsers = (users: number): number => users * (1 - MAX_FALL);
    if (before && (treated.n < minUsers(before.treated) || control.n < minUsers(before.control)))
      return `its totals of ${kpi} have fewer users than an earlier entry`;
    const hasUsers = treated.n + control.n > 0;
    if (before && hasUsers && as_of < before.as_of)
      return `its totals of ${kpi} are older than those of an earlier entry`;
    largest.set(rowKey(row), {
      as_of: hasUsers ? as_of : (before?.as_of ?? -Infinity),
      treated: Math.max(before?.treated ?? 0, treated.n),
      control: Math.max(before?.control ?? 0, control.n),
    });
  }
  return undefined;
}

const NOT_ITS_RESULT = `its decision is not that of the rule ${RULE} on its totals`;

/** Computes a decision again; explains how the recorded one differs, if it does. */
function findDecisionProblem(
  { plan, step, beganAtMs, baseline }: Rollout,
  entry: Entry,
  { detail, totals }: StepRecord,
  isDecided: (decided: Decision, plan: Plan) => boolean,
): string | undefined {
  const { hours, silent, ordered, rule, readings } = detail;
  if (rule !== RULE) return `its rule is not ${RULE}`;
  if (detail["baseline"] !== baseline?.id) return "its baseline is not the last resume after a mismatch";
  if (!isFiniteNumber(hours) || !isFiniteNumber(silent)) return "its hours or silent is not a number";
  const decidedAtMs = beganAtMs + hours * HOUR_MS;
  const delayMs = parseMoment(entry.timestamp) - decidedAtMs;
  // An advance with `ordered` is recorded only after the target system was set. Holds and stops, which widen no exposure, may be
  // late too. One millisecond is for rounding; a time that is none, NaN, fails.
  if (!(delayMs >= -1) || (delayMs > 1 && ordered === undefined && entry.eventType === "stage_advanced"))
    return "its hours do not match the time since its step began";
  const stepTotals = totals.filter((row) => row.step === step);
  const oldest = Math.min(...stepTotals.map((row) => Math.min(parseMoment(row.as_of), parseMoment(row.at))));
  const computedSilence = stepTotals.length === 0 ? 0 : Math.max(0, (decidedAtMs - oldest) / HOUR_MS);
  if (Math.abs(computedSilence - silent) > 1e-6) return "its silent does not match the age of its oldest totals";
  if (!plan) return undefined;
  const state = { step, hours, silent, cells: toCells(totals) };
  const decided = decideRollout(plan, state, baseline?.cells);
  if (!areSameReadings(readings, decided.readings))
    return `its readings are not those of the rule ${RULE} on its totals`;
  return isDecided(decided, plan) ? undefined : NOT_ITS_RESULT;
}

const areSameReadings = (readings: unknown, computed: readonly Reading[]): boolean =>
  Array.isArray(readings) &&
  readings.length === computed.length &&
  computed.every((reading, index) => isObject(readings[index]) && isSameReading(readings[index], { ...reading }));

/** Compares results to nine digits; for `bad`, the reason why totals are impossible, each implementation has its own words. */
const isSameReading = (recorded: JsonObject, computed: JsonObject): boolean =>
  [...new Set([...Object.keys(recorded), ...Object.keys(computed)])].every((name) => {
    const [one, other] = [recorded[name], computed[name]];
    if (typeof one === "number" && typeof other === "number")
      return Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(one), Math.abs(other));
    return name === "bad" ? typeof one === typeof other : one === other;
  });
