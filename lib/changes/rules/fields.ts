/** Schemas of the fields of a manifest. */
import * as z from "zod";
import { isMisspelling, findNearest } from "../../kit/nearest.ts";

/** Text that is not blank. */
export const nonEmptyText = () => z.string("must be text").refine((text) => text.trim() !== "", "must not be empty");

/** A list. */
export const list = <T extends z.ZodType>(item: T) => z.array(item, "must be a list");

/** An object that rejects unknown fields, so that a misspelt rule is not ignored. */
export const strictObject = <T extends z.ZodRawShape>(shape: T) =>
  z.strictObject(shape, {
    error: ({ code, keys }) =>
      code === "unrecognized_keys"
        ? describeUnknownFields(keys ?? [], Object.keys(shape), listInnerFields(shape))
        : "must be an object",
  });

/** Lists the fields of the objects in an object, such as `may.targets`. */
const listInnerFields = (shape: z.ZodRawShape): string[] =>
  Object.entries(shape).flatMap(([name, field]) => {
    const inner = field instanceof z.ZodOptional ? field.unwrap() : field;
    return inner instanceof z.ZodObject ? Object.keys(inner.shape).map((innerName) => `${name}.${innerName}`) : [];
  });

/** Returns the message for unknown fields: it suggests the known or inner field that was probably meant, or lists all known. */
export function describeUnknownFields(
  keys: readonly string[],
  known: readonly string[],
  innerFields: readonly string[] = [],
): string {
  const describeKey = (key: string): string => {
    const inner = innerFields.find((field) => field.endsWith(`.${key}`));
    return inner === undefined || isMisspelling(key, known) ? suggestWord(key, known) : `did you mean ${inner}?`;
  };
  return `has no field ${keys.map((key) => `${key}: ${describeKey(key)}`).join(" ")}`;
}

/** Suggests the known word that was probably meant; lists all words if none is similar. */
export const suggestWord = (word: string, known: readonly string[]): string =>
  isMisspelling(word, known) ? `did you mean ${findNearest(word, known)}?` : `known are ${known.join(", ")}`;
