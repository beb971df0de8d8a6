/** Words for a rollout: the wait of each step, and the measured bounds of each KPI. */
import { describeWait } from "../../../lib/wording/rollouts.ts";
import type { ChangeDetail } from "../core/api_types.ts";
import { formatCount, formatDateTime, formatNumber, formatPercent, formatSigned } from "../core/format.ts";
import { type Badge, formatTitle } from "./statuses.ts";

type Stages = NonNullable<ChangeDetail["stages"]>;
type WatchedKpi = Stages["watch"][number];
type Measurement = NonNullable<ChangeDetail["rollout"]>["measured"][number];

/** `10%`, from a share in parts of 10,000. */
export const formatShare = (share: number): string => `${formatNumber(share / 100)}%`;

/** Returns true while only a part of the users has the new value. */
export const isRollingOut = ({ status, exposure }: Pick<ChangeDetail, "status" | "exposure">): boolean =>
  status === "applied" && exposure !== undefined && exposure.waits_for !== null;

/** Describes the wait of the next step, to be read after "Waits for". */
export const describeNextStep = ({ exposure, rollout, stages }: ChangeDetail): string =>
  describeWait({
    reason: exposure!.waits_for,
    kpi: rollout?.kpi && formatTitle(rollout.kpi),
    fed_by: stages!.fed_by,
    not_before: rollout?.not_before && formatDateTime(rollout.not_before),
  }) ??
  rollout?.error ??
  "the reason of the last hold in its history";

/** Describes the condition of the next step. */
export function describeAdvance({ advance, min_hours, min_users }: Stages["steps"][number]): string {
  const conditions = {
    budget: "when the worst that is possible at the next share is allowed",
    proven: "when it is proven to be no worse than allowed",
    unless_worse: `unless it is worse, with ${formatNumber(min_users ?? 0)} users or more on each side`,
    manual: "when a person takes the next step",
  };
  return conditions[advance] + (min_hours > 0 ? `; ${formatCount(min_hours, "hour")} at least` : "");
}

/** The measured bounds of how much worse a KPI is, in the unit of `allowed`; null while a bound is not known. */
export interface Band {
  kpi: string;
  badge: Badge;
  /** The bounds in words. */
  range: string;
  /** The KPI's values for users with and without the change, in words. */
  levels: string;
  at_least: number | null;
  at_most: number | null;
  allowed: number;
}

/** Lists the bands of the KPIs that were measured in the newest step. */
export function listBands({ stages, rollout }: Pick<ChangeDetail, "stages" | "rollout">): Band[] {
  const measured = rollout?.measured ?? [];
  const newest = Math.max(...measured.map(({ step }) => step));
  return (stages?.watch ?? []).flatMap((watched) => {
    const found = measured.find(({ step, kpi }) => step === newest && kpi === watched.kpi);
    return found ? [toBand(watched, found)] : [];
  });
}

function toBand(watched: WatchedKpi, { treated, control, treated_n, control_n, ...bounds }: Measurement): Band {
  const { kpi, kind } = watched;
  const isRelative = typeof watched.allowed === "object";
  const allowed = typeof watched.allowed === "object" ? watched.allowed.relative : watched.allowed;
  const { worse_at_least: at_least, worse_at_most: at_most } = bounds;
  const isShare = kind === "binary" || isRelative;
  const formatAmount = (value: number) =>
    formatNumber(Number((isShare ? value * 100 : value).toPrecision(3))).replace("-", "−");
  const absoluteUnit = kind === "binary" ? " points" : "";
  const unit = isRelative ? "%" : absoluteUnit;
  const formatLevel = (value: number) =>
    kind === "binary" ? formatPercent(value) : formatNumber(Number(value.toPrecision(4)));
  const formatBound = (value: number | null) => (value === null ? "not known yet" : formatAmount(value) + unit);
  const range = `worse by at least ${formatBound(at_least)}, at most ${formatBound(at_most)}; ${formatAmount(allowed)}${unit} allowed`;
  const preposition = kind === "binary" ? "of" : "on average of";
  const levels = `${formatLevel(treated)} ${preposition} ${formatCount(treated_n, "user")} with the new value, ${formatLevel(control)} ${preposition} ${formatNumber(control_n)} without`;
  return { kpi, badge: bandBadge({ at_least, at_most, allowed }), range, levels, at_least, at_most, allowed };
}

function bandBadge({ at_least, at_most, allowed }: Pick<Band, "at_least" | "at_most" | "allowed">): Badge {
  if (at_least !== null && at_least > allowed) return { word: "Worse than allowed", shape: "bang", tone: "bad" };
  if (at_most !== null && at_most <= allowed) return { word: "No worse than allowed", shape: "check", tone: "good" };
  return { word: "Not known yet", shape: "quarter", tone: "wait" };
}

/** "+2 points" for a share that the rollout of the change watches, otherwise "+0.02". */
export function formatExpectedGain({ expected_delta_k: gain, kpi, stages }: ExpectedGain): string {
  const isShare = stages?.watch.some((watched) => watched.kpi === kpi && watched.kind === "binary") ?? false;
  return isShare ? `${formatSigned(gain! * 100)} points` : formatSigned(gain!);
}

type ExpectedGain = Pick<ChangeDetail, "expected_delta_k" | "kpi" | "stages">;

/** Describes the measured effect of a rollout in the units of its bands; undefined where nothing was measured. */
export function describeMeasuredEffect(change: Pick<ChangeDetail, "stages" | "rollout">): string | undefined {
  const effects = listBands(change).map(({ kpi, range }) => `${formatTitle(kpi)} is ${range}`);
  return effects.length === 0 ? undefined : `Measured against users without it: ${effects.join(". ")}.`;
}
