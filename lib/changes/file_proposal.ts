/** Records a proposal, of a caller or of a language model, within a transaction. */
import { AppError, invalidField } from "../kit/errors.ts";
import { countProposal, findReachedLimit } from "./agent_limits.ts";
import { decideByMandate, type MandateViolation } from "./mandates/approve_change.ts";
import { listLocations, requireFreeLocations } from "./locations.ts";
import { resolveActor, verifyPresentedProof, type ProofInput } from "./proof_input.ts";
import { readProposalFacts } from "./proposal_facts.ts";
import { listVisibleIds } from "./read_scope.ts";
import { MAX_LISTED_CHANGES, listIndexedOpenChanges, readRecord } from "./records.ts";
import { recordRejection } from "./rejections.ts";
import { type Actor, signerActor } from "./rules/actor.ts";
import { requireAgentScope } from "./rules/agent_scope.ts";
import { requireApplyWhen } from "./rules/apply_when.ts";
import type { PlanEntry } from "./rules/change.ts";
import type { Command, DraftRequester, ProposeInput } from "./rules/command.ts";
import { contentDigest } from "./rules/content.ts";
import { findCoveredTarget, listEntries } from "./rules/list_entries.ts";
import { type MissingConsent, listMissingConsents } from "./rules/missing_consents.ts";
import { isAgent } from "./rules/principals.ts";
import { type TierFacts, createProposedContent } from "./rules/propose.ts";
import { canRead } from "./rules/reader.ts";
import type { SignatureResult } from "./rules/require_signature.ts";
import { findSupersedeProblem } from "./rules/supersede.ts";
import type { Findings } from "./examine_proposal.ts";
import type { CommandResult, Transaction } from "./transaction.ts";

export interface ProposalResult extends CommandResult {
  /** Ids of other open changes on its targets that the caller may read; ten at most. */
  conflicts: string[];
  /** Consents that the change still needs before its apply. */
  missing: MissingConsent[];
  /** Bounds of its agent's mandates that the change violates, so that no mandate approves it. */
  outside?: MandateViolation[];
  /** Says that the target is recorded in another spelling than requested. */
  target_spelling?: string;
}

/** Records a proposal. Returns the error of a rejection that is recorded, and throws other errors. */
export async function fileProposal(
  transaction: Transaction,
  requested: ProposeInput,
  claimed: Actor,
  proof: ProofInput,
  { requester, seen, not_allowed, readings }: Findings & { requester?: DraftRequester } = {},
): Promise<ProposalResult | AppError> {
  const { tx, at, ledger, evidence, reader } = transaction;
  const { intent, adapter } = transaction.product;
  const { policy } = intent;
  const proposalFacts = await readProposalFacts({ ledger, evidence, policy, at, readings }, requested);
  const { values } = proposalFacts;
  const facts = { ...proposalFacts.facts, seen };
  const { input } = facts;
  const { proposer } = input;
  const agent = proposer !== undefined && isAgent(proposer, intent) ? proposer : undefined;
  if (agent) requireAgentScope(agent, input, intent);
  // The rejection of a forbidden target is recorded, so no error of a target system may come before it.
  const forbidden = { targets: policy.forbidden_targets };
  const isForbidden = findCoveredTarget(input, forbidden) !== undefined;
  const locations = isForbidden ? undefined : listLocations(adapter, input);
  // Only a minor change is approved by its proposal, and an approval records the changes in force.
  const target_owner = input.tier === "minor" ? await ledger.targetOwner(input) : null;
  // A rejection for a conflict is a decision, which needs the log; a mere list may come from the store's index.
  const isConflictBlocking = policy.on_conflict === "block";
  const conflicts = await listOpenChangesOnTargets(input, (entry) =>
    isConflictBlocking ? ledger.openChanges(entry) : listIndexedOpenChanges(tx, entry),
  );
  requireApplyWhen(input, policy, transaction.now);
  if (input.supersedes !== undefined) {
    const superseded = (await readRecord(tx, input.supersedes))?.change;
    const problem =
      superseded && canRead(reader, superseded) ? findSupersedeProblem(superseded, input) : "names no change";
    if (problem !== undefined) throw invalidField("supersedes", problem);
  }
  const limit_reached = agent ? await findReachedLimit(transaction, agent, input) : undefined;
  const signature = await verifySignature(transaction, facts, proof);
  const actor = resolveActor(proposer ?? "", signature, claimed);
  let result: CommandResult;
  try {
    const command = {
      type: "propose",
      ...facts,
      target_owner,
      openChanges: conflicts,
      limit_reached,
      // The intent's judgement of the values, by schemas and steps, comes before that of the target systems.
      not_allowed: values.error ?? not_allowed,
      step_base: values.step_base,
      requester,
      places: locations,
      signature,
    } as const satisfies Command;
    result = transaction.execute(undefined, command, actor);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "forbidden_target") throw error;
    await recordRejection(transaction, input, error, actor);
    return error;
  }
  // After the decision, so that the errors of the intent come first.
  await requireFreeLocations(tx, locations, transaction.sha256, reader);
  if (agent) await countProposal(transaction, agent, input);
  const proposal = { input, actor, places: locations, seen, readings };
  // A mandate's consent is an entry of its own, after that of the proposal.
  const { approved, violations } = await decideByMandate(transaction, result, proposal);
  result = approved ?? result;
  const missing = listMissingConsents(result.record.change, intent);
  const visibleConflicts = [...(await listVisibleIds({ store: tx, reader }, conflicts))];
  return {
    ...result,
    conflicts: visibleConflicts,
    missing,
    ...(violations && { outside: violations }),
    ...describeRespelling(requested, input),
  };
}

/** Describes targets that the request spelled differently from their first apply; the spelling of the first apply is recorded. */
function describeRespelling(requested: ProposeInput, recorded: ProposeInput): { target_spelling?: string } {
  const requestedEntries = listEntries(requested);
  const sentences = listEntries(recorded).flatMap(({ target }, index) => {
    const spelled = requestedEntries[index]!.target;
    return spelled === target
      ? []
      : [`Recorded as ${target}, as it was first applied; the request spelled it ${spelled}.`];
  });
  return sentences.length === 0 ? {} : { target_spelling: sentences.join(" ") };
}

/** Lists the ids of open changes on all targets of a proposal, ten at most. */
async function listOpenChangesOnTargets(
  input: ProposeInput,
  find: (entry: PlanEntry) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const idsByTarget = await Promise.all(listEntries(input).map(find));
  return [...new Set(idsByTarget.flat())].slice(0, MAX_LISTED_CHANGES);
}

async function verifySignature(
  transaction: Transaction,
  proposal: TierFacts,
  proof: ProofInput,
): Promise<SignatureResult | undefined> {
  const { proposer } = proposal.input;
  if (proof.proof === undefined && proof.at === undefined) return undefined;
  if (proposer === undefined) throw invalidField("proposer", "is required with proof");
  const { intent } = transaction.product;
  const digest = contentDigest(
    createProposedContent(proposal, { intent, actor: signerActor(proposer) }),
    transaction.sha256,
  );
  return verifyPresentedProof(transaction, { decision: "propose", digest, approver: proposer, note: "" }, proof);
}
