/**
 * Rollouts in steps by their entries: no step is skipped, and each decision is the one that the rule `cs1` makes of the recorded
 * totals. The rule needs the plan, which the content of the change has.
 */
import { type Cells, decideRollout } from "../../lib/rollout/decide_rollout.ts";
import type { Plan } from "../../lib/rollout/plan.ts";
import { type Decision, type Reading, RULE } from "../../lib/rollout/rule.ts";
import { type FedTotals, toCells } from "../../lib/rollout/samples.ts";
import type { Finding } from "./chain.ts";
import { decoded, parseDetail, readManifestHash } from "./detail.ts";
import { asText, type Detail, isObject, isWhole } from "./json.ts";
import type { Entry } from "./line.ts";
import { parseMoment } from "./moment.ts";
import { isOfContent, type NamedStages, readNamedStages } from "./named_stages.ts";
import { isCount, readPlan } from "./plan.ts";
import { sameName } from "./policy.ts";

const SERVICE = "policy:stages";
const HOUR_MS = 3600 * 1000;
const OTHER_STAGES = "it names other stages than its content";
/** Part of the largest number of users that a later number may be below it. */
const MAX_FALL = 0.01;
/** How far totals may be ahead of an entry: as far as they may be ahead of the service when they are fed. */
const MAX_AHEAD_MS = 5 * 60_000;

/** Largest totals of a KPI in a step so far, and the time of the newest that had users. */
interface Largest {
  as_of: number;
  treated: number;
  control: number;
}

/** A rollout as its entries tell of it. */
interface Rollout {
  named: NamedStages;
  /** The plan, where the export or the certificate has the content. */
  plan: Plan | undefined;
  isRunning: boolean;
  step: number;
  /** The entry with which the step began. */
  begun: number;
  /** When the step began, in milliseconds. */
  since: number;
  by_hand?: number | undefined;
  isMismatched: boolean;
  stopped?: number | undefined;
  baseline?: { id: number; cells: Cells } | undefined;
  largest: Map<string, Largest>;
  /** The intent that an entry names, of each entry that names another than the one before. */
  intents: { id: number; manifest: string }[];
}

/** Creates the check of the entries of rollouts, one after another. */
export function createRolloutCheck() {
  const rollouts = new Map<string, Rollout>();
  const unread = new Set<string>();
  let newIntent = 0;

  const whyInvalid = (entry: Entry, detail: Detail): string | undefined => {
    const change = decoded(entry.changeId);
    const known = rollouts.get(change);
    if (entry.eventType === "intent_in_force") newIntent = entry.id;
    if (entry.eventType === "change_proposed") {
      const { stages } = detail;
      const named = readNamedStages(stages);
      if (named) rollouts.set(change, { ...begin(named), intents: intentsWith([], entry, detail) });
      return named || stages === undefined ? undefined : "its stages are no shares with a feeder";
    }
    if (known) intentsWith(known.intents, entry, detail);
    if (entry.eventType === "change_applied") return applyRollout(known, entry, detail);
    if (entry.eventType === "change_rolled_back") {
      const isOrdered = known?.stopped !== undefined;
      if (known) known.isRunning = false;
      return [detail["by"], detail["actor"]].includes(SERVICE) && !isOrdered ? NOT_ORDERED : undefined;
    }
    if (!entry.eventType.startsWith("stage_")) return undefined;
    if (!known?.isRunning) return "it is about a step of a change that is not being rolled out";
    if (!known.plan) unread.add(change);
    return judgeStep(known, entry, detail, newIntent);
  };

  return {
    /** Takes the content of a change, which has its plan; returns why it is not of the entry of its proposal. */
    learn(changeId: string, content: Detail): string | undefined {
      const known = rollouts.get(changeId);
      if (known) known.plan = readPlan(content["stages"]);
      if (!isOfContent(known?.named, content)) return OTHER_STAGES;
      return known && !known.plan ? "its stages are no plan of a rollout" : undefined;
    },
    check(entry: Entry, line: number): Finding | undefined {
      const message = whyInvalid(entry, parseDetail(entry));
      return message === undefined ? undefined : { line, entry: entry.id, rule: "form", message };
    },
    /** Returns the number of rollouts whose decisions were not computed again, for want of their plan. */
    countUnread: (): number => unread.size,
  };
}

const NOT_ORDERED = `it is rolled back by ${SERVICE}, and the rule of its rollout did not order that`;

const begin = (named: NamedStages): Rollout => ({
  ...{ named, plan: undefined, isRunning: false, step: 0, begun: 0, since: NaN, isMismatched: false },
  ...{ by_hand: undefined, stopped: undefined, baseline: undefined, largest: new Map(), intents: [] },
});

/** Adds the intent that an entry names where it is another than that of the one before. */
function intentsWith(intents: Rollout["intents"], { id }: Entry, detail: Detail): Rollout["intents"] {
  const manifest = readManifestHash(detail);
  if (intents.at(-1)?.manifest !== manifest) intents.push({ id, manifest });
  return intents;
}

function applyRollout(known: Rollout | undefined, entry: Entry, { stage }: Detail): string | undefined {
  if (!known) return stage === undefined ? undefined : "it exposes a share of a change without steps";
  const { named, plan, intents } = known;
  Object.assign(known, { ...begin(named), plan, intents, isRunning: true, begun: entry.id });
  known.since = parseMoment(entry.timestamp);
  const isFirst = isObject(stage) && stage["step"] === 0 && stage["share"] === named.shares[0];
  return isFirst ? undefined : "it does not begin at the first step of its rollout";
}

/** The decision that an entry states; a resume decides nothing. */
const DECISIONS: ReadonlyMap<string, string> = new Map([
  ["stage_advanced", "advance"],
  ["stage_held", "hold"],
  ["stage_stopped", "rollback"],
]);

function judgeStep(known: Rollout, entry: Entry, detail: Detail, newIntent: number): string | undefined {
  const {
    step,
    named: { shares },
  } = known;
  if (detail["step"] !== step) return `it is about another step than ${step}, where the rollout stands`;
  if (step >= shares.length) return "everybody has the value already";
  if (detail["decision"] !== DECISIONS.get(entry.eventType)) return "it states another decision than its event";
  const totals = readTotals(detail["totals"]);
  const wrong = totals === undefined ? "its totals are none" : whyWrongTotals(known, totals, entry);
  if (wrong !== undefined) return wrong;
  switch (entry.eventType) {
    case "stage_advanced":
      return judgeAdvance(known, entry, { detail, totals: totals! }, newIntent);
    case "stage_stopped": {
      if (known.stopped !== undefined) return "the rollout is stopped already";
      if (detail["actor"] !== SERVICE) return `only ${SERVICE} stops a rollout`;
      known.stopped = entry.id;
      return whyOther(known, entry, { detail, totals: totals! }, ({ decision }) => decision === "rollback");
    }
    case "stage_resumed":
      return judgeResume(known, entry, { detail, totals: totals! });
    case "stage_held":
      return judgeHold(known, entry, { detail, totals: totals! });
    default:
      return "nobody knows what it says of a rollout";
  }
}

/** An entry's detail, and its totals. */
interface Stated {
  detail: Detail;
  totals: readonly FedTotals[];
}

const OF_NOBODY = "it is the act of a person, and names none";

/** Checks that an entry names somebody who is not the service itself. */
const isByPerson = ({ actor }: Detail): boolean => typeof actor === "string" && !actor.startsWith("policy:");

/** Checks that the intent is another than when an advance was ordered: then what a person signed does not count any more. */
const isUnderOther = ({ intents }: Rollout, { manifest_hash }: Detail, ordered: number, newIntent: number): boolean =>
  newIntent >= ordered || intents.findLast(({ id }) => id < ordered)?.manifest !== manifest_hash;

function judgeAdvance(known: Rollout, entry: Entry, stated: Stated, newIntent: number): string | undefined {
  const { step, by_hand, stopped, isMismatched, begun } = known;
  const { shares } = known.named;
  const { to, share, ordered, reason } = stated.detail;
  if (to !== step + 1 || share !== (shares[step + 1] ?? null)) return "it does not advance to the next step";
  if (isMismatched) return "it advances a rollout that a mismatch holds";
  if (ordered !== undefined && !(isWhole(ordered, begun + 1) && ordered <= entry.id))
    return "it was ordered before its step began, or after itself";
  const isOrderedBefore = (stop: number | undefined): boolean =>
    stop === undefined || (ordered !== undefined && ordered <= stop);
  if (!isOrderedBefore(by_hand)) return "it advances a rollout that a person holds";
  if (!isOrderedBefore(stopped)) return "it advances a rollout that its rule has stopped";
  const isByHand = reason === "manual";
  const isUnnamed = stated.detail["actor"] === null && ordered !== undefined;
  if (isByHand && !isByPerson(stated.detail) && !(isUnnamed && isUnderOther(known, stated.detail, ordered, newIntent)))
    return OF_NOBODY;
  const why = whyOther(known, entry, stated, (decided, plan) =>
    isByHand
      ? decided.reason === "manual" && Number(stated.detail["hours"]) >= plan.steps[step]!.min_hours
      : decided.decision === "advance" && decided.reason === reason,
  );
  Object.assign(known, { step: step + 1, begun: entry.id, since: parseMoment(entry.timestamp) });
  return why;
}

function judgeResume(known: Rollout, entry: Entry, { detail, totals }: Stated): string | undefined {
  const { by_hand, isMismatched, largest } = known;
  if (by_hand === undefined && !isMismatched) return "it resumes a rollout that nobody holds and that has no mismatch";
  if (!isByPerson(detail)) return OF_NOBODY;
  const lacks = [...largest].some(([key]) => !totals.some((row) => rowKey(row) === key));
  if (isMismatched && lacks) return "its totals lack some that were used before it";
  if (!isMismatched && totals.length > 0) return "it has totals, and no mismatch was resumed";
  if (isMismatched) known.baseline = { id: entry.id, cells: toCells(totals) };
  known.by_hand = undefined;
  known.isMismatched = false;
  return undefined;
}

/** Reasons of the rule itself. */
const RULE_HOLDS: ReadonlySet<unknown> = new Set(["no_data", "manual", "min_hours", "not_yet"]);

function judgeHold(known: Rollout, entry: Entry, stated: Stated): string | undefined {
  const { detail } = stated;
  const { reason, rule } = detail;
  if (asText(reason) === undefined) return "it does not say why the rollout is held";
  if (reason === "by_hand" && rule === undefined) {
    if (known.by_hand !== undefined) return "a person holds the rollout already";
    known.by_hand = entry.id;
    return undefined;
  }
  const wasMismatched = known.isMismatched;
  if (reason === "mismatch") known.isMismatched = true;
  if (rule === undefined) return reason === "mismatch" ? "it holds for a mismatch, and names no rule" : undefined;
  return whyOther(known, entry, stated, (decided) => {
    if (decided.decision === "rollback") return false;
    if (reason === "mismatch") return wasMismatched || decided.reason === reason;
    return RULE_HOLDS.has(reason) ? decided.reason === reason : decided.reason !== "mismatch";
  });
}

const rowKey = ({ step, kpi }: Pick<FedTotals, "step" | "kpi">): string => `${step} ${kpi}`;

/** Reads recorded totals; an entry without any has none, and undefined stands for what are no totals. */
function readTotals(totals: unknown): readonly FedTotals[] | undefined {
  if (totals === undefined) return [];
  const isArm = (arm: unknown): boolean =>
    isObject(arm) && isCount(arm["n"]) && arm["n"] >= 0 && isCount(arm["sum"]) && Object.values(arm).every(isCount);
  const isTime = (time: unknown): boolean => typeof time === "string" && !Number.isNaN(parseMoment(time));
  const isRow = (row: unknown): boolean =>
    isObject(row) &&
    isWhole(row["step"], 0) &&
    [row["kpi"], row["by"]].every((text) => asText(text) !== undefined) &&
    [row["as_of"], row["at"]].every(isTime) &&
    [row["treated"], row["control"]].every(isArm);
  return Array.isArray(totals) && totals.every(isRow) ? (totals as FedTotals[]) : undefined;
}

/** Explains why totals do not follow from those before them; takes them where they do. */
function whyWrongTotals(
  { step, named, largest }: Rollout,
  totals: readonly FedTotals[],
  { timestamp }: Entry,
): string | undefined {
  const latest = parseMoment(timestamp) + MAX_AHEAD_MS;
  for (const row of totals) {
    const { kpi, treated, control } = row;
    const [as_of, at] = [parseMoment(row.as_of), parseMoment(row.at)];
    if (row.step > step) return `its totals are of step ${row.step}, which the rollout has not reached`;
    if (sameName(row.by) !== sameName(named.fed_by))
      return `its totals of ${kpi} are of another feeder than the plan names`;
    if (!(Math.max(as_of, at) <= latest)) return `its totals of ${kpi} are of a time after it`;
    const known = largest.get(rowKey(row));
    const least = (users: number): number => users * (1 - MAX_FALL);
    if (known && (treated.n < least(known.treated) || control.n < least(known.control)))
      return `its totals of ${kpi} have fewer users than an earlier entry`;
    const hasUsers = treated.n + control.n > 0;
    if (known && hasUsers && as_of < known.as_of)
      return `its totals of ${kpi} are older than those of an earlier entry`;
    const { treated: t = 0, control: c = 0, as_of: before = -Infinity } = known ?? {};
    largest.set(rowKey(row), {
      as_of: hasUsers ? as_of : before,
      ...{ treated: Math.max(t, treated.n), control: Math.max(c, control.n) },
    });
  }
  return undefined;
}

const NOT_ITS_RESULT = `it is not what the rule ${RULE} decides on its totals`;

/** Computes a decision again, and explains why the recorded one is another. */
function whyOther(
  { plan, step, since, baseline }: Rollout,
  entry: Entry,
  { detail, totals }: Stated,
  isDecided: (decided: Decision, plan: Plan) => boolean,
): string | undefined {
  const { hours, silent, ordered, rule, readings } = detail;
  if (rule !== RULE) return `it names another rule than ${RULE}`;
  if (detail["baseline"] !== baseline?.id) return "it does not count from the last resume out of a mismatch";
  if (!isCount(hours) || !isCount(silent)) return "it does not say for how long the step lasted";
  const at = since + hours * HOUR_MS;
  const late = parseMoment(entry.timestamp) - at;
  // An advance on a target system is decided before it is recorded.
  if (!(late >= -1) || (late > 1 && ordered === undefined && entry.eventType === "stage_advanced"))
    return "its hours are not those since its step began";
  const fed = totals.filter((row) => row.step === step);
  const oldest = Math.min(...fed.map((row) => Math.min(parseMoment(row.as_of), parseMoment(row.at))));
  const quiet = fed.length === 0 ? 0 : Math.max(0, (at - oldest) / HOUR_MS);
  if (Math.abs(quiet - silent) > 1e-6) return "it is not silent for as long as it says";
  if (!plan) return undefined;
  const state = { step, hours, silent, cells: toCells(totals) };
  const decided = decideRollout(plan, state, baseline?.cells);
  if (!areSame(readings, decided.readings)) return `its results are not those of the rule ${RULE} on its totals`;
  return isDecided(decided, plan) ? undefined : NOT_ITS_RESULT;
}

const areSame = (readings: unknown, computed: readonly Reading[]): boolean =>
  Array.isArray(readings) &&
  readings.length === computed.length &&
  computed.every((reading, index) => isObject(readings[index]) && isSame(readings[index], { ...reading }));

/** Compares results to nine digits; the reason of impossible totals is worded as each implementation likes. */
const isSame = (recorded: Detail, computed: Detail): boolean =>
  [...new Set([...Object.keys(recorded), ...Object.keys(computed)])].every((name) => {
    const [one, other] = [recorded[name], computed[name]];
    if (typeof one === "number" && typeof other === "number")
      return Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(one), Math.abs(other));
    return name === "bad" ? typeof one === typeof other : one === other;
  });
