/** What the fields of an intent are made of. */
import * as z from "zod";
import { nearest } from "../../kit/nearest.ts";
import { sameName } from "./names.ts";

/** Text that says something. */
export const filled = z.string("must be text").refine((text) => text.trim() !== "", "must not be empty");
/** A number as JSON has it. */
export const finite = z.number("must be a finite number");
/** A whole number of at least `min`. */
export const count = (min: number) =>
  z.int(`must be a whole number of ${min} or more`).min(min, `must be a whole number of ${min} or more`);
/** What can match a target; anything else would be a rule that never matches. */
export const pattern = z
  .string("must be text")
  .regex(/^[A-Za-z0-9._:/*-]{1,200}$/, "must be a target of A-Z a-z 0-9 . _ : / -, with * for any characters");
/** Who can decide: what the service itself is called by can not. */
export const approver = filled
  .max(200, "must have 200 characters at most")
  .refine((name) => !/^\s*(?:llm|policy|peer|agent):/i.test(name.normalize("NFKC")), "is no name that may approve")
  .transform(sameName);
/** Any number of items. */
export const list = <T extends z.ZodType>(item: T) => z.array(item, "must be a list");
/** A rule that is misspelt must never be a rule that is absent. */
export const object = <T extends z.ZodRawShape>(shape: T) =>
  z.strictObject(shape, {
    error: ({ code, keys }) =>
      code === "unrecognized_keys" ? unknown(keys ?? [], Object.keys(shape)) : "must be an object",
  });
/** What a field that no rule has was meant to be. */
export const unknown = (keys: readonly string[], known: readonly string[]): string =>
  `has no field ${keys.map((key) => `${key}: did you mean ${nearest(key, known)}?`).join(" ")}`;
