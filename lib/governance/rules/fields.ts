/** How the fields of a manifest are read. */
import * as z from "zod";
import { nearest } from "../../kit/nearest.ts";

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

/** What is said of fields that no rule has. */
export const unknown = (keys: readonly string[], known: readonly string[]): string =>
  `has no field ${keys.map((key) => `${key}: did you mean ${nearest(key, known)}?`).join(" ")}`;
