/** Reads the stages in the entry of a proposal: the shares of the rollout's steps, and who feeds its totals. */
import { stringOrUndefined, type JsonObject, isObject, isIntegerAtLeast } from "./json.ts";

/** The share that stands for all users. */
const BUCKETS = 10_000;

/** Shares of the steps, in users of 10,000, and the name that feeds the totals. */
export interface NamedStages {
  shares: readonly number[];
  fed_by: string;
}

/** Reads the `stages` of a proposal's entry; undefined unless its shares grow, from at least 1 to below 10,000, and it names a feeder. */
export function readNamedStages(stages: unknown): NamedStages | undefined {
  if (!isObject(stages)) return undefined;
  const { shares, fed_by } = stages;
  const isLargerShare = (share: unknown, at: number, all: readonly unknown[]): boolean =>
    isIntegerAtLeast(share, 1) && share < BUCKETS && (at === 0 || share > (all[at - 1] as number));
  if (!Array.isArray(shares) || shares.length === 0 || !shares.every(isLargerShare)) return undefined;
  const feeder = stringOrUndefined(fed_by);
  return feeder === undefined ? undefined : { shares, fed_by: feeder };
}

/** Checks that an entry and a content have the same shares and feeder, or both no stages. */
export function matchesContent(named: NamedStages | undefined, { stages }: JsonObject): boolean {
  if (named === undefined || stages === undefined) return named === stages;
  if (!isObject(stages) || !Array.isArray(stages["steps"])) return false;
  const shares = stages["steps"].map((step) => isObject(step) && step["share"]);
  return (
    stages["fed_by"] === named.fed_by &&
    shares.length === named.shares.length &&
    named.shares.every((share, at) => share === shares[at])
  );
}
