/**
 * Types of input fields, the same from a form (text) and from JSON (typed). Numbers follow the JSON grammar and are finite: zod's
 * coercion would read "" as 0 and "false" as true.
 */
import * as z from "zod";
import { INVISIBLE } from "./invisible.ts";
import { isReservedName, MAX_NAME_LENGTH } from "./person_name.ts";

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

const errorMessages = (message: string) => ({
  error: (issue: { input?: unknown }) => (issue.input === undefined ? "is required" : message),
});

/** Free text up to `max` characters; may be empty. */
export const freeText = (max: number) =>
  z
    .string(errorMessages("must be text"))
    .max(max, `must have at most ${max} characters`)
    .refine((text) => text.isWellFormed(), "must be well-formed Unicode");

/** One visible line of 1 to `max` characters, trimmed and in the Unicode form NFC. */
export const line = (max: number) => normalizedLine(max, "NFC");

/** Counts the characters after normalization, as they are stored: one character may become several. */
const normalizedLine = (max: number, form: "NFC" | "NFKC") =>
  z
    .string(errorMessages("must be text"))
    .normalize(form)
    .trim()
    .max(max, `must have at most ${max} characters`)
    .refine((text) => text !== "", "must not be empty")
    .refine((text) => text.isWellFormed(), "must be well-formed Unicode")
    .refine((text) => !INVISIBLE.test(text), "must not contain control or invisible characters");

/** A person's or agent's name: one visible line, NFKC, at most 200 characters; the service's own prefixes are rejected. */
export const personName = () =>
  normalizedLine(MAX_NAME_LENGTH, "NFKC").refine(
    (name) => !isReservedName(name),
    "must not begin with llm:, policy:, mandate:, idp: or group:; those names are no person's",
  );

/** A target, `[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}`. Without `.` and `..` segments, a path that contains it is unambiguous. */
export const target = () =>
  z
    .string(errorMessages("must be text"))
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}$/,
      "must be 1 to 200 characters of A-Z a-z 0-9 . _ : / - and begin with a letter or digit",
    )
    .refine((text) => !/\/\.\.?(?:\/|$)|\/$/.test(text), "must have no segment . or .. and no / at its end");

/** A moment with any offset, converted to UTC. */
export const time = () =>
  z.iso
    .datetime({ offset: true, error: "must be a time such as 2026-12-24T08:00:00Z" })
    .transform((text) => new Date(text).toISOString());

/** An id that the service assigned. */
export const changeId = () => freeText(200).min(1, "must not be empty");

const numeric = (message: string, isAllowed: (value: number) => boolean) =>
  z
    .union([z.number(), z.string().regex(JSON_NUMBER).transform(Number)], errorMessages(message))
    .refine(isAllowed, message);

/** A finite number. */
export const finiteNumber = () => numeric("must be a finite number", Number.isFinite);

/** A whole number from `min` to `max`. */
export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER) {
  const range = max === Number.MAX_SAFE_INTEGER ? `of ${min} or more` : `from ${min} to ${max}`;
  const isAllowed = (value: number): boolean => Number.isSafeInteger(value) && value >= min && value <= max;
  const bounds = max === Number.MAX_SAFE_INTEGER ? {} : { maximum: max };
  return numeric(`must be a whole number ${range}`, isAllowed).meta({ type: "integer", minimum: min, ...bounds });
}

/** `true`, `false`, `1` or `0`. */
export const flag = () =>
  z.union(
    [z.boolean(), z.enum(["true", "false", "1", "0"]).transform((text) => text === "true" || text === "1")],
    errorMessages("must be true or false"),
  );

/** One of a few words. */
export const word = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.enum(words, errorMessages(`must be one of ${words.join(", ")}`));
