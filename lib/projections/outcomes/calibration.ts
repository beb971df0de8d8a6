/** Calibration: promised against realised movement of changes, by proposer and kind. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import { roundDelta } from "../../changes/rules/kpi.ts";
import { normalizeName } from "../../changes/rules/names.ts";
import { isJudged, type Outcome } from "../../changes/rules/outcome.ts";
import type { Reads, Tx } from "../../store/store.ts";
import type { ProjectedChange } from "../projection.ts";

declare module "../../store/store.ts" {
  interface Collections {
    /** `calibration/<kpi>`: the groups of a KPI, since units differ; the group that was counted last is the last. */
    calibration: Group[];
  }
}

const GROUPINGS = ["kind", "proposer_kind", "proposer"] as const;

/** Sums of the final outcomes of a group. */
interface Group extends GroupSums {
  by: (typeof GROUPINGS)[number];
  group: string;
}

interface GroupSums {
  n: number;
  met: number;
  missed: number;
  regressed: number;
  promised: number;
  realised: number;
  shared: number;
}

const MAX_PROPOSERS = 30;
const MAX_KPIS = 50;

const count = () => z.number().int();

/** Promised against realised movement of one group of changes on one KPI. */
export const calibrationSchema = once(() =>
  z
    .object({
      kpi: z.string().describe("The KPI; the means have its unit."),
      by: z.enum(GROUPINGS).describe("Grouping of the changes."),
      group: z.string().describe("The kind, kind of proposer, or proposer."),
      n: count().describe("Final outcomes with a promise, not shared."),
      met: count().describe("Of these met."),
      missed: count().describe("Of these missed."),
      regressed: count().describe("Of these regressed."),
      mean_promised: z.number().nullable().describe("Mean expected_delta_k of these."),
      mean_realised: z.number().nullable().describe("Mean realised_delta of these."),
      shared: count().describe("Further outcomes whose movement is shared."),
    })
    .describe("Promised and realised movement of a group's changes."),
);
export type Calibration = z.infer<ReturnType<typeof calibrationSchema>>;

/** Counts a final outcome that was judged and had a promise. */
export async function calibrate(
  tx: Tx,
  { kind, proposer, proposer_kind }: Pick<ProjectedChange, "kind" | "proposer" | "proposer_kind">,
  { kpi, expected_delta_k: promised, realised_delta: realised, verdict, shared_count }: Outcome,
): Promise<void> {
  if (kpi === null || promised === null || realised === null || !isJudged({ verdict })) return;
  const added: Partial<GroupSums> = shared_count > 0 ? { shared: 1 } : { n: 1, [verdict]: 1, promised, realised };
  let groups = (await tx.get("calibration", kpi))?.value ?? [];
  groups = addToGroup(groups, "kind", kind, added);
  groups = addToGroup(groups, "proposer_kind", proposer_kind, added);
  if (proposer !== null) groups = addToGroup(groups, "proposer", normalizeName(proposer), added);
  tx.put("calibration", kpi, dropOldProposers(groups));
}

function addToGroup(groups: readonly Group[], by: Group["by"], group: string, added: Partial<GroupSums>): Group[] {
  const isSame = (other: Group) => other.by === by && other.group === group;
  const {
    n = 0,
    met = 0,
    missed = 0,
    regressed = 0,
    promised = 0,
    realised = 0,
    shared = 0,
  } = groups.find(isSame) ?? {};
  const before: GroupSums = { n, met, missed, regressed, promised, realised, shared };
  const names = Object.keys(before) as (keyof GroupSums)[];
  const after = Object.fromEntries(names.map((name) => [name, roundDelta(before[name] + (added[name] ?? 0))]));
  return [...groups.filter((other) => !isSame(other)), { by, group, ...(after as unknown as GroupSums) }];
}

/** Limits the number of proposers; those whose outcomes were closed longest ago are dropped. */
function dropOldProposers(groups: readonly Group[]): Group[] {
  const dropped = groups.filter(({ by }) => by === "proposer").slice(0, -MAX_PROPOSERS);
  return groups.filter((group) => !dropped.includes(group));
}

/** Lists the calibration of each group by KPI, of fifty KPIs at most. */
export async function listCalibration({ list }: Reads): Promise<Calibration[]> {
  const page = await list("calibration", { limit: MAX_KPIS });
  return page.flatMap(({ id: kpi, value }) =>
    GROUPINGS.flatMap((by) => value.filter((group) => group.by === by).map((group) => toCalibration(kpi, group))),
  );
}

function toCalibration(kpi: string, { promised, realised, ...group }: Group): Calibration {
  const mean = (sum: number): number | null => (group.n === 0 ? null : roundDelta(sum / group.n));
  return { kpi, ...group, mean_promised: mean(promised), mean_realised: mean(realised) };
}
