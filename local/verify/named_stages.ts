/** The stages in the entry of a proposal: the shares of its steps, and their feeder. */
import { asText, type Detail, isObject, isWhole } from "./json.ts";

const BUCKETS = 10_000;

/** The shares of the steps, of 10,000, and who feeds them. */
export interface NamedStages {
  shares: readonly number[];
  fed_by: string;
}

/** Reads the `stages` of a proposal's entry; undefined where its shares do not grow from 1 to below 10,000, or nobody feeds it. */
export function readNamedStages(stages: unknown): NamedStages | undefined {
  if (!isObject(stages)) return undefined;
  const { shares, fed_by } = stages;
  const isGrown = (share: unknown, at: number, all: readonly unknown[]): boolean =>
    isWhole(share, 1) && share < BUCKETS && (at === 0 || share > (all[at - 1] as number));
  if (!Array.isArray(shares) || shares.length === 0 || !shares.every(isGrown)) return undefined;
  const feeder = asText(fed_by);
  return feeder === undefined ? undefined : { shares, fed_by: feeder };
}

/** Checks that an entry names the stages of a content: the same shares and feeder, or none. */
export function isOfContent(named: NamedStages | undefined, { stages }: Detail): boolean {
  if (named === undefined || stages === undefined) return named === stages;
  if (!isObject(stages) || !Array.isArray(stages["steps"])) return false;
  const shares = stages["steps"].map((step) => isObject(step) && step["share"]);
  return (
    stages["fed_by"] === named.fed_by &&
    shares.length === named.shares.length &&
    named.shares.every((share, at) => share === shares[at])
  );
}
