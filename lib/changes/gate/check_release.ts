/** Answers a tool with a token of its own, and records the answer. */
import { canonicalJson } from "../../kit/canonical_json.ts";
import type { ChangesDeps } from "../deps.ts";
import { serviceActor } from "../rules/actor.ts";
import type { GateDecision } from "../rules/decide_gate.ts";
import { normalizeTarget } from "../rules/target_key.ts";
import { runTransaction, type Transaction } from "../transaction.ts";
import { type GateQuestion, judgeRelease } from "./judge_release.ts";

declare module "../../store/store.ts" {
  interface Collections {
    /** `<change_id>\n<SHA-256 of the target, head, state and caller>`: an answer that the log has. */
    release_checks: true;
  }
}

/** A program with a token of its own: the issuer and the subject of the token, and the run that it names. */
export interface GateCaller {
  iss: string;
  sub: string;
  run_id?: string | undefined;
}

/**
 * Judges a release. Records `release_checked` if there is a change, once for each caller, head and answer. `caller`: absent for
 * a holder of the admin token. Errors: those of a governed write.
 */
export const checkRelease = (
  deps: ChangesDeps,
  question: GateQuestion,
  caller: GateCaller | undefined,
): Promise<GateDecision> =>
  runTransaction<GateDecision>({ deps }, async (transaction) => {
    const { record, ...decision } = await judgeRelease(transaction, question);
    if (record && (await storeIfNew(transaction, question, { ...decision, caller }))) {
      const { target, head } = question;
      const { state, reasons } = decision;
      const circumstance = { target, head, state, reasons, ...(caller && { caller }) };
      transaction.execute(record, { type: "check_release", circumstance }, serviceActor());
    }
    return decision;
  });

/** Stores an answer; returns true if it was not stored before. Other reasons, or another run of the caller, are the same answer. */
async function storeIfNew(
  { tx, sha256 }: Transaction,
  { target, head }: GateQuestion,
  { change_id, state, caller }: GateDecision & { caller: GateCaller | undefined },
): Promise<boolean> {
  const answer = { target: normalizeTarget(target), head, state, iss: caller?.iss ?? null, sub: caller?.sub ?? null };
  const key = `${change_id}\n${sha256(canonicalJson(answer))}`;
  if (await tx.get("release_checks", key)) return false;
  tx.put("release_checks", key, true, 0);
  return true;
}
