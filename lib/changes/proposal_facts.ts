/** Reads the facts of the log that decide the tier of a proposal and the spelling of its targets. */
import type { Evidence } from "./evidence.ts";
import { type ValueFacts, judgeValues, type ValueJudgement } from "./judge_values.ts";
import { countMinorToday } from "./minor_quota.ts";
import { findUnapprovedRollback } from "./recent_rollback.ts";
import type { ProposeInput } from "./rules/command.ts";
import { listEntries } from "./rules/list_entries.ts";
import type { TierFacts } from "./rules/propose.ts";
import type { Ledger } from "./ledger/ledger.ts";

interface Sources extends ValueFacts {
  ledger: Ledger;
  evidence: Evidence;
}

/** A proposal as it will be recorded, with the judgement of its values. */
interface ProposalFacts {
  facts: TierFacts;
  values: ValueJudgement;
}

/** Returns a proposal as it will be recorded, from which its signature and its record are created. */
export async function readProposalFacts(
  { ledger, evidence, ...valueFacts }: Sources,
  requested: ProposeInput,
): Promise<ProposalFacts> {
  const { at } = valueFacts;
  const input = await ledger.respell(requested);
  const values = await judgeValues(ledger, input, valueFacts);
  if (input.tier !== "minor") return { facts: { input, minor_today: 0 }, values };
  const facts = {
    input,
    minor_today: await countMinorToday(evidence, at),
    rolled_back: await findRolledBack(evidence, input, at),
    first_value: values.first,
  };
  return { facts, values };
}

/** Finds the first target that was rolled back in the last 24 hours, and for which no person has approved a change since. */
async function findRolledBack(evidence: Evidence, input: ProposeInput, at: string): Promise<TierFacts["rolled_back"]> {
  for (const entry of listEntries(input)) {
    const since = await findUnapprovedRollback(evidence, entry, at);
    if (since !== undefined) return { target: entry.target, at: since };
  }
  return undefined;
}
