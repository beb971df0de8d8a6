/** Reads what the log tells about the target of a proposal: it decides the tier and the recorded spelling. */
import type { Evidence } from "./evidence.ts";
import { minorToday } from "./minor_quota.ts";
import { unapprovedRollback } from "./recent_rollback.ts";
import type { ProposeInput } from "./rules/command.ts";
import type { Graded } from "./rules/propose.ts";
import type { Ledger } from "./ledger/ledger.ts";

/** Returns a proposal as it will be recorded, for a signature and for the record alike. */
export async function proposalFacts(
  { ledger, evidence }: { ledger: Ledger; evidence: Evidence },
  stated: ProposeInput,
  at: string,
): Promise<Graded> {
  const input = { ...stated, target: await ledger.spelling(stated) };
  if (input.tier !== "minor") return { input, minor_today: 0 };
  return {
    input,
    minor_today: await minorToday(evidence, at),
    rolled_back: await unapprovedRollback(evidence, input, at),
  };
}
