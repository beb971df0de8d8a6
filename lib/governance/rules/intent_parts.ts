/** What the rules of an intent are made of. */
import * as z from "zod";
import { filled } from "./fields.ts";
import { sameName } from "./names.ts";

/** A number as JSON has it. */
export const finite = () => z.number("must be a finite number");
/** A whole number of at least `min`. */
export const count = (min: number) =>
  z.int(`must be a whole number of ${min} or more`).min(min, `must be a whole number of ${min} or more`);
/** A day, or a moment with its offset. */
export const moment = () =>
  z.union(
    [z.iso.date(), z.iso.datetime({ offset: true })],
    "must be a date such as 2026-12-31, or a time such as 2026-12-31T18:00:00+01:00",
  );
/** What can match a target; anything else would be a rule that never matches. */
export const pattern = () =>
  z
    .string("must be text")
    .regex(/^[A-Za-z0-9._:/*-]{1,200}$/, "must be a target of A-Z a-z 0-9 . _ : / -, with * for any characters");
/** Who can decide: what the service itself is called by can not. */
export const approver = () =>
  filled()
    .max(200, "must have 200 characters at most")
    .refine((name) => !/^\s*(?:llm|policy|peer|agent):/i.test(name.normalize("NFKC")), "is no name that may approve")
    .transform(sameName);
