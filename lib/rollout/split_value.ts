/** Values that give each share of the users another value: `{"$split": {"unit": "userId", "shares": [["on", true, 1000], …]}}`. */
import * as z from "zod";
import { line } from "../kit/fields.ts";
import { once } from "../kit/once.ts";
import { BUCKETS, bucketFinder } from "./bucket.ts";

/** A part of the users, with the name of their variant and the value that they get. */
export interface Share {
  variant: string;
  value: unknown;
  /** Size of the part, of 10,000. */
  share: number;
}

/** A split value. Buckets are given to its shares in their order; the last share also gets those whose unit is unknown. */
export interface UserSplit {
  /** Name of the attribute that tells users apart. */
  unit: string;
  shares: Share[];
}

/** Largest number of shares. */
export const MAX_SHARES = 100;

const splitSchema = once(() =>
  z.strictObject({
    $split: z.strictObject({
      unit: line(100).default("userId"),
      shares: z
        .array(
          z.tuple(
            [line(100), z.json(), z.int().min(0).max(BUCKETS)],
            "must be a variant's name, its value and its share",
          ),
        )
        .min(2)
        .max(MAX_SHARES)
        .refine(
          (shares) => new Set(shares.map(([variant]) => variant)).size === shares.length,
          "must name each variant once",
        )
        .refine(
          (shares) => shares.reduce((sum, [, , share]) => sum + share, 0) === BUCKETS,
          `must have ${BUCKETS} in sum`,
        ),
    }),
  }),
);

/** True for a value that says to be a split, also where its form is wrong. */
const hasSplitKey = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.hasOwn(value, "$split");

/** Returns the split that a value is; undefined for a value that is the same for everybody. */
export function readSplit(value: unknown): UserSplit | undefined {
  const { data } = hasSplitKey(value) ? splitSchema().safeParse(value) : {};
  return (
    data && {
      unit: data.$split.unit,
      shares: data.$split.shares.map(([variant, held, share]) => ({ variant, value: held, share })),
    }
  );
}

/** Says what is wrong with a value that should be a split; undefined where nothing is, or where it is none. */
export function describeSplitProblem(value: unknown): string | undefined {
  const issue = hasSplitKey(value) ? splitSchema().safeParse(value).error?.issues[0] : undefined;
  return issue && `${issue.path.join(".")}: ${issue.message}`;
}

/** Returns what finds the position of a unit's share; the salt is the flag's key, so that a user is in another part for another flag. */
export function shareFinder({ shares }: UserSplit, salt: string): (unit: string) => number {
  const findBucket = bucketFinder(salt);
  return (unit) => {
    let bucket = findBucket(unit);
    return shares.findIndex(({ share }) => (bucket -= share) < 0);
  };
}
