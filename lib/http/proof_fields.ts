/** Request fields of a signed decision. */
import * as z from "zod";
import { proofSchema } from "../changes/rules/proof.ts";
import { once } from "../kit/once.ts";

/** The time of a statement. */
export const statementTime = () => z.iso.datetime("must be a time of RFC 3339 in UTC, as 2026-01-02T03:04:05.678Z");

/** The time of a signed statement. */
export const signedAt = once(() =>
  statementTime().describe("The time in the signed statement, within ten minutes of now; goes with proof."),
);

/** The fields; in a form `proof` is JSON text. */
export const proofFields = () => ({ proof: proofSchema().optional(), at: signedAt().optional() });
