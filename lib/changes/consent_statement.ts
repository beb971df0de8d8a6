/** Makes the statement that a person signs for a decision or an action. */
import { readHead } from "../audit/chain.ts";
import { toBase64Url } from "../kit/base64.ts";
import { invalidField } from "../kit/errors.ts";
import type { Sha256 } from "../kit/platform.ts";
import { type Caller, requirePerson } from "./caller.ts";
import { completeProposal } from "./complete_proposal.ts";
import type { ChangesDeps } from "./deps.ts";
import { consultLog } from "./evidence.ts";
import { readLedger } from "./ledger/ledger.ts";
import { examineProposal } from "./examine_proposal.ts";
import { readProposalFacts } from "./proposal_facts.ts";
import { findChange } from "./records.ts";
import { createMandateFacts } from "./mandates/mandate_facts.ts";
import { findMandate } from "./mandates/read_mandate.ts";
import { MANDATE_DECISIONS, type MandateDecision } from "./rules/mandate.ts";
import { narrowBounds, type Narrowing } from "./rules/mandate_narrow.ts";
import { kpiDirection } from "./rules/kpi.ts";
import { type ServiceAction, SERVICE_ACTIONS } from "./rules/service_action.ts";
import { type Content, contentDigest } from "./rules/content.ts";
import { signerActor } from "./rules/actor.ts";
import type { RequestedProposal } from "./rules/command.ts";
import type { LateItem, ReviewVerdict } from "./rules/change.ts";
import type { StageFacts } from "./rules/stage_action.ts";
import { createCrmFollowup, type Followup, createProposedContent } from "./rules/propose.ts";
import { createChangeFacts, type Decision, isConsentDecision, statementText } from "./rules/statement.ts";

/** The decision or action, and its signer. */
export interface StatementInput extends Partial<StageFacts> {
  decision: Decision | ServiceAction | MandateDecision;
  mandate_id?: string | undefined;
  narrow?: Narrowing | undefined;
  approver: string;
  change_id?: string | undefined;
  note?: string | undefined;
  verdict?: ReviewVerdict | undefined;
  item?: LateItem | undefined;
  seen?: readonly string[] | undefined;
  over_drift?: boolean | undefined;
  kpis?: Readonly<Record<string, number>> | undefined;
  until?: string | undefined;
  length?: number | undefined;
  head?: string | undefined;
  at?: string | undefined;
  proposal?: RequestedProposal | undefined;
  followup?: Followup | undefined;
}

/** A statement to sign. */
export interface Statement {
  /** RFC 8785 JSON. */
  statement: string;
  /** SHA-256 of the statement in base64url, for a passkey. */
  challenge: string;
  /** The content of a proposal, to which the digest in the statement belongs. */
  content?: Content;
}

/**
 * Makes the statement that has to be signed for a decision now. Errors: 404 `change_not_found`, `mandate_not_found`, 400
 * `invalid_field` for a field that is missing or does not belong to the decision, 403 `identity_mismatch`.
 */
export async function makeConsentStatement(caller: Caller, input: StatementInput): Promise<Statement> {
  const { deps } = caller;
  const { decision, approver, note = "", at = new Date(deps.clock.now()).toISOString() } = input;
  const logHead = await readHead(deps.store);
  if (!logHead) throw new Error("a statement needs an opened product runtime");
  rejectUnexpectedFields(input);
  const { facts, content } = await readFacts(deps, { ...input, decision });
  requirePerson(caller, "approver", approver);
  const common = { origin: logHead.origin, note, manifest_hash: deps.product!.manifest_hash, at };
  const statement = statementText({ ...common, ...facts });
  const challenge = computePasskeyChallenge(statement, deps.sha256);
  return { statement, challenge, ...(content && { content }) };
}

/**
 * Reads the facts of a statement apart from the common ones; of a proposal also its content. In the calls, `{ ...input, decision }`
 * has the narrowed type of `decision`.
 */
async function readFacts(deps: ChangesDeps, input: StatementInput): Promise<{ facts: object; content?: Content }> {
  const { decision, approver } = input;
  if (isServiceAction(decision)) return { facts: await readServiceFacts(deps, { ...input, decision }) };
  if (isMandateDecision(decision))
    return { facts: { ...(await readMandateFacts(deps, { ...input, decision })), approver } };
  const { facts, content } = await readDecisionFacts(deps, { ...input, decision });
  return { facts: { ...facts, approver }, ...(content && { content }) };
}

/** Returns the facts of an action on the service. Errors: 404 `change_not_found`, 400 `invalid_field`. */
async function readServiceFacts(deps: ChangesDeps, input: StatementInput & { decision: ServiceAction }) {
  const { decision, approver, until, length, head, kpis } = input;
  if (decision === "accept_loss" && (length === undefined || head === undefined))
    throw invalidField(length === undefined ? "length" : "head", "is required");
  if (decision === "feed_kpis" && Object.keys(kpis ?? {}).length === 0)
    throw invalidField("kpis", "must name one KPI at least");
  const erased = decision === "erase" ? await readContentToErase(deps, input) : {};
  return { decision, actor: approver, until, length, head, kpis, ...erased };
}

type SignedDecision = Decision | ServiceAction | MandateDecision;

const isServiceAction = (decision: SignedDecision): decision is ServiceAction =>
  (SERVICE_ACTIONS as readonly string[]).includes(decision);
const isMandateDecision = (decision: SignedDecision): decision is MandateDecision =>
  (MANDATE_DECISIONS as readonly string[]).includes(decision);

/** Returns the facts of a decision on a mandate. Errors: 404 `mandate_not_found`, 400 `invalid_field`. */
async function readMandateFacts(
  deps: ChangesDeps,
  { decision, mandate_id, narrow }: StatementInput & { decision: MandateDecision },
) {
  if (mandate_id === undefined) throw invalidField("mandate_id", "is required");
  if (decision === "mandate_narrow" && narrow === undefined) throw invalidField("narrow", "is required");
  const mandate = await consultLog(deps, (evidence) => findMandate({ tx: deps.store, evidence }, mandate_id));
  // Called for its errors only: the statement has the narrowing as requested.
  if (narrow) narrowBounds(mandate.bounds, narrow, (kpi) => kpiDirection(kpi, deps.product!.intent));
  return createMandateFacts(decision, mandate, narrow);
}

/** Fields that belong only to some decisions, each with a predicate for these decisions. */
const FIELD_DECISIONS: Readonly<Record<string, (decision: SignedDecision) => boolean>> = {
  change_id: (decision) =>
    decision === "erase" || (decision !== "propose" && !isServiceAction(decision) && !isMandateDecision(decision)),
  mandate_id: isMandateDecision,
  narrow: (decision) => decision === "mandate_narrow",
  note: (decision) => decision !== "propose",
  verdict: (decision) => decision === "review",
  item: (decision) => decision === "note",
  seen: isConsentDecision,
  over_drift: (decision) => decision === "rollback",
  step: (decision) => decision === "stage",
  action: (decision) => decision === "stage",
  kpis: (decision) => decision === "feed_kpis",
  until: (decision) => decision === "freeze",
  length: (decision) => decision === "accept_loss",
  head: (decision) => decision === "accept_loss",
  proposal: (decision) => decision === "propose",
  followup: (decision) => decision === "propose",
};

function rejectUnexpectedFields(input: StatementInput): void {
  for (const [field, isExpected] of Object.entries(FIELD_DECISIONS))
    if (input[field as keyof StatementInput] !== undefined && !isExpected(input.decision))
      throw invalidField(field, `does not belong to the decision ${input.decision}`);
}

async function readContentToErase({ store }: ChangesDeps, { change_id }: StatementInput) {
  if (change_id === undefined) throw invalidField("change_id", "is required");
  return { change_id, digest: (await findChange(store, change_id)).change.digest };
}

/** Reads the facts of a decision on a change; of a proposal also its content. */
async function readDecisionFacts(
  deps: ChangesDeps,
  input: StatementInput & { decision: Decision },
): Promise<{ facts: object; content?: Content }> {
  const { store, clock, product, sha256 } = deps;
  const { decision, approver, change_id, verdict, item, seen, step, action } = input;
  // A statement never has `over_drift: false`.
  const over_drift = input.over_drift || undefined;
  if (decision === "review" && verdict === undefined) throw invalidField("verdict", "is required");
  if (decision === "note" && item === undefined) throw invalidField("item", "is required");
  if (decision === "stage" && (step === undefined || action === undefined))
    throw invalidField(step === undefined ? "step" : "action", "is required");
  if (decision !== "propose") {
    if (change_id === undefined) throw invalidField("change_id", "is required");
    const { change } = await findChange(store, change_id);
    return {
      facts: { decision, verdict, item, seen, step, action, over_drift, ...createChangeFacts(decision, change) },
    };
  }
  const completed = await completeProposal(deps, requireProposal(input));
  const proposal = { ...completed, proposer: completed.proposer ?? approver };
  if (proposal.proposer !== approver) throw invalidField("proposal", "must have the approver as its proposer");
  const now = new Date(clock.now()).toISOString();
  const { seen: observedDigests, readings } = await examineProposal(deps, proposal);
  const { policy } = product!.intent;
  const { facts: proposalFacts } = await readLedger(deps, (ledger, evidence) =>
    readProposalFacts({ ledger, evidence, policy, at: now, readings }, proposal),
  );
  // The signature authenticates its signer, which a minor change may require.
  const context = { intent: product!.intent, actor: signerActor(approver) };
  const content = createProposedContent({ ...proposalFacts, seen: observedDigests }, context);
  return { facts: { decision, digest: contentDigest(content, sha256) }, content };
}

function requireProposal({ proposal, followup }: StatementInput): RequestedProposal {
  if (proposal && followup) throw invalidField("followup", "replaces proposal; leave one of them out");
  if (followup) return createCrmFollowup(followup);
  if (!proposal) throw invalidField("proposal", "is required");
  return proposal;
}

/** Returns the SHA-256 of a statement in base64url: the challenge that a passkey signs. */
export const computePasskeyChallenge = (statement: string, sha256: Sha256): string =>
  toBase64Url(Uint8Array.from(sha256(statement).match(/../g)!, (byte) => parseInt(byte, 16)));
