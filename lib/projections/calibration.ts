/** Calibration: what was promised of changes beside what came, by who proposed them and by what sort of change they are. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { roundDelta } from "../changes/rules/kpi.ts";
import { sameName } from "../changes/rules/names.ts";
import { isJudged, type Outcome } from "../changes/rules/outcome.ts";
import type { Reads, Tx } from "../store/store.ts";
import type { FollowedChange } from "./follower.ts";

declare module "../store/store.ts" {
  interface Collections {
    /** `calibration/<kpi>`: the groups of one KPI, since units differ from one to the next; the one counted last at the end. */
    calibration: Group[];
  }
}

const GROUPINGS = ["kind", "proposer_kind", "proposer"] as const;

/** The final outcomes of a group, in sums. */
interface Group extends Counts {
  by: (typeof GROUPINGS)[number];
  group: string;
}

interface Counts {
  n: number;
  met: number;
  missed: number;
  regressed: number;
  promised: number;
  realised: number;
  shared: number;
}

const PROPOSERS_KEPT = 30;
const KPIS_SHOWN = 50;

const count = () => z.number().int();

/** Promised against realised movement of one group of changes on one KPI. */
export const calibrationSchema = once(() =>
  z
    .object({
      kpi: z.string().describe("The KPI, in whose units the means are."),
      by: z.enum(GROUPINGS).describe("What the group is of."),
      group: z.string().describe("Which kind, or who."),
      n: count().describe("Final outcomes with a promise, not shared."),
      met: count().describe("Of these met."),
      missed: count().describe("Of these missed."),
      regressed: count().describe("Of these regressed."),
      mean_promised: z.number().nullable().describe("Mean expected_delta_k of these."),
      mean_realised: z.number().nullable().describe("Mean realised_delta of these."),
      shared: count().describe("Further ones, whose movement is shared."),
    })
    .describe("What a group's changes promised beside what came of them."),
);
export type Calibration = z.infer<ReturnType<typeof calibrationSchema>>;

/** Counts a final outcome that was judged, and of which something was promised. */
export async function calibrate(
  tx: Tx,
  { kind, proposer, proposer_kind }: Pick<FollowedChange, "kind" | "proposer" | "proposer_kind">,
  { kpi, expected_delta_k: promised, realised_delta: realised, verdict, shared_count }: Outcome,
): Promise<void> {
  if (kpi === null || promised === null || realised === null || !isJudged({ verdict })) return;
  const one: Partial<Counts> = shared_count > 0 ? { shared: 1 } : { n: 1, [verdict]: 1, promised, realised };
  let groups = (await tx.get("calibration", kpi))?.value ?? [];
  groups = withOne(groups, "kind", kind, one);
  groups = withOne(groups, "proposer_kind", proposer_kind, one);
  if (proposer !== null) groups = withOne(groups, "proposer", sameName(proposer), one);
  tx.put("calibration", kpi, newestOf(groups));
}

function withOne(groups: readonly Group[], by: Group["by"], group: string, one: Partial<Counts>): Group[] {
  const isIt = (known: Group) => known.by === by && known.group === group;
  const { n = 0, met = 0, missed = 0, regressed = 0, promised = 0, realised = 0, shared = 0 } = groups.find(isIt) ?? {};
  const before: Counts = { n, met, missed, regressed, promised, realised, shared };
  const names = Object.keys(before) as (keyof Counts)[];
  const after = Object.fromEntries(names.map((name) => [name, roundDelta(before[name] + (one[name] ?? 0))]));
  return [...groups.filter((known) => !isIt(known)), { by, group, ...(after as unknown as Counts) }];
}

/** Proposers may be any number: those whose outcomes were closed longest ago are forgotten. */
function newestOf(groups: readonly Group[]): Group[] {
  const forgotten = groups.filter(({ by }) => by === "proposer").slice(0, -PROPOSERS_KEPT);
  return groups.filter((group) => !forgotten.includes(group));
}

/** The calibration of each group, by KPI. */
export async function calibrationOf({ list }: Reads): Promise<Calibration[]> {
  const page = await list("calibration", { limit: KPIS_SHOWN });
  return page.flatMap(({ id: kpi, value }) =>
    GROUPINGS.flatMap((by) => value.filter((one) => one.by === by).map((one) => shown(kpi, one))),
  );
}

function shown(kpi: string, { promised, realised, ...group }: Group): Calibration {
  const mean = (sum: number): number | null => (group.n === 0 ? null : roundDelta(sum / group.n));
  return { kpi, ...group, mean_promised: mean(promised), mean_realised: mean(realised) };
}
