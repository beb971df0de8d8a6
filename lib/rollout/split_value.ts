/** Values that give each share of the users another value: `{"$split": {"unit": "userId", "shares": [["on", true, 1000], …]}}`. */
import * as z from "zod";
import { line } from "../kit/fields.ts";
import { once } from "../kit/once.ts";
import { BUCKETS, bucketFinder } from "./bucket.ts";

/** A share of the users, with the variant and the value that they get. */
export interface Share {
  variant: string;
  value: unknown;
  /** Size, of 10,000. */
  share: number;
}

/** A split value. Buckets are assigned to its shares in order; users without a unit get the last share. */
export interface UserSplit {
  /** Name of the attribute that distinguishes users. */
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

/** Returns true for a split, also a malformed one. */
const hasSplitKey = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.hasOwn(value, "$split");

/** Reads a split value; undefined for a value that is the same for everybody, and for a malformed split. */
export function readSplit(value: unknown): UserSplit | undefined {
  const { data } = hasSplitKey(value) ? splitSchema().safeParse(value) : {};
  return (
    data && {
      unit: data.$split.unit,
      shares: data.$split.shares.map(([variant, variantValue, share]) => ({ variant, value: variantValue, share })),
    }
  );
}

/** Describes the error of a malformed split; undefined for a valid one, and for a value that is no split. */
export function describeSplitProblem(value: unknown): string | undefined {
  const issue = hasSplitKey(value) ? splitSchema().safeParse(value).error?.issues[0] : undefined;
  return issue && `${issue.path.join(".")}: ${issue.message}`;
}

/** Returns a function that finds the index of a unit's share. With the flag's key as salt, flags divide users differently. */
export function shareFinder({ shares }: UserSplit, salt: string): (unit: string) => number {
  const findBucket = bucketFinder(salt);
  return (unit) => {
    let offset = findBucket(unit);
    return shares.findIndex(({ share }) => {
      offset -= share;
      return offset < 0;
    });
  };
}
