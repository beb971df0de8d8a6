/** How the fields of a manifest are read. */
import * as z from "zod";
import { isSlip, nearest } from "../../kit/nearest.ts";

/** Text that says something. */
export const filled = () => z.string("must be text").refine((text) => text.trim() !== "", "must not be empty");

/** A list of such. */
export const list = <T extends z.ZodType>(item: T) => z.array(item, "must be a list");

/** A rule that is misspelt must never be a rule that is absent. */
export const object = <T extends z.ZodRawShape>(shape: T) =>
  z.strictObject(shape, {
    error: ({ code, keys }) =>
      code === "unrecognized_keys" ? unknown(keys ?? [], Object.keys(shape)) : "must be an object",
  });

/** The message for fields that no rule has: the one that was probably meant, or else all that there are. */
export const unknown = (keys: readonly string[], known: readonly string[]): string =>
  `has no field ${keys.map((key) => `${key}: ${suggestion(key, known)}`).join(" ")}`;

/** A word that is like none of the known ones is no slip, so no single one is offered for it. */
export const suggestion = (word: string, known: readonly string[]): string =>
  isSlip(word, known) ? `did you mean ${nearest(word, known)}?` : `known are ${known.join(", ")}`;
