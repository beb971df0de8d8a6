/** The statement that a signature of a decision signs. */
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
import { mandateFacts } from "./mandates/mandate_facts.ts";
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
import { changeFacts, type Decision, isConsentDecision, statementText } from "./rules/statement.ts";

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
 * Makes the statement that has to be signed for a decision now. Errors: 404 `change_not_found`, 400 `invalid_field` for a field
 * that does not belong to the decision.
 */
export async function makeConsentStatement(caller: Caller, input: StatementInput): Promise<Statement> {
  const { deps } = caller;
  const {
    decision,
    approver,
    note = "",
    until,
    length,
    head: end,
    kpis,
    at = new Date(deps.clock.now()).toISOString(),
  } = input;
  const head = await readHead(deps.store);
  if (!head) throw new Error("a statement needs an opened product runtime");
  rejectStrayFields(input);
  const mandate = isMandateDecision(decision) ? await readMandateFacts(deps, { ...input, decision }) : undefined;
  const decided =
    isServiceAction(decision) || isMandateDecision(decision)
      ? undefined
      : await readDecisionFacts(deps, { ...input, decision });
  if (decision === "accept_loss" && (length === undefined || end === undefined))
    throw invalidField(length === undefined ? "length" : "head", "is required");
  if (decision === "feed_kpis" && Object.keys(kpis ?? {}).length === 0)
    throw invalidField("kpis", "must name one KPI at least");
  const erased = decision === "erase" ? await readContentToErase(deps, input) : {};
  requirePerson(caller, "approver", approver);
  const shared = { origin: head.origin, note, manifest_hash: deps.product!.manifest_hash, at };
  const statement = mandate
    ? statementText({ ...shared, ...mandate, approver })
    : decided
      ? statementText({ ...shared, ...decided.about, approver })
      : statementText({
          ...shared,
          decision: decision as ServiceAction,
          actor: approver,
          until,
          length,
          head: end,
          kpis,
          ...erased,
        });
  const challenge = computePasskeyChallenge(statement, deps.sha256);
  return { statement, challenge, ...(decided?.content && { content: decided.content }) };
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
  if (narrow) narrowBounds(mandate.bounds, narrow, (kpi) => kpiDirection(kpi, deps.product!.intent));
  return mandateFacts(decision, mandate, narrow);
}

/** Fields that belong only to some decisions. */
const BELONGS: Readonly<Record<string, (decision: SignedDecision) => boolean>> = {
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

function rejectStrayFields(input: StatementInput): void {
  for (const [field, belongs] of Object.entries(BELONGS))
    if (input[field as keyof StatementInput] !== undefined && !belongs(input.decision))
      throw invalidField(field, `does not belong to the decision ${input.decision}`);
}

async function readContentToErase({ store }: ChangesDeps, { change_id }: StatementInput) {
  if (change_id === undefined) throw invalidField("change_id", "is required");
  return { change_id, digest: (await findChange(store, change_id)).change.digest };
}

/** Reads the facts of a decision on a change; of a proposal also its content. */
async function readDecisionFacts(deps: ChangesDeps, input: StatementInput & { decision: Decision }) {
  const { store, clock, product, sha256 } = deps;
  const { decision, approver, change_id, verdict, item, seen, step, action } = input;
  const over_drift = input.over_drift || undefined;
  if (decision === "review" && verdict === undefined) throw invalidField("verdict", "is required");
  if (decision === "note" && item === undefined) throw invalidField("item", "is required");
  if (decision === "stage" && (step === undefined || action === undefined))
    throw invalidField(step === undefined ? "step" : "action", "is required");
  if (decision !== "propose") {
    if (change_id === undefined) throw invalidField("change_id", "is required");
    const { change } = await findChange(store, change_id);
    return { about: { decision, verdict, item, seen, step, action, over_drift, ...changeFacts(decision, change) } };
  }
  const stated = await completeProposal(deps, requireProposal(input));
  const proposal = { ...stated, proposer: stated.proposer ?? approver };
  if (proposal.proposer !== approver) throw invalidField("proposal", "must have the approver as its proposer");
  const now = new Date(clock.now()).toISOString();
  const { seen: found, readings } = await examineProposal(deps, proposal);
  const { policy } = product!.intent;
  const { facts: known } = await readLedger(deps, (ledger, evidence) =>
    readProposalFacts({ ledger, evidence, policy, at: now, readings }, proposal),
  );
  const facts = { ...known, seen: found };
  // The signature authenticates its signer, which a minor change may require.
  const context = { intent: product!.intent, actor: signerActor(approver) };
  const content = createProposedContent(facts, context);
  return { about: { decision, digest: contentDigest(content, sha256) }, content };
}

function requireProposal({ proposal, followup }: StatementInput): RequestedProposal {
  if (proposal && followup) throw invalidField("followup", "stands in place of proposal, not together with it");
  if (followup) return createCrmFollowup(followup);
  if (!proposal) throw invalidField("proposal", "is required");
  return proposal;
}

/** Returns the SHA-256 of a statement in base64url, which a passkey is asked to sign. */
export const computePasskeyChallenge = (statement: string, sha256: Sha256): string =>
  toBase64Url(Uint8Array.from(sha256(statement).match(/../g)!, (byte) => parseInt(byte, 16)));
