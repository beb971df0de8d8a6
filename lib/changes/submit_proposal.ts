/** Carries a proposal through one governed transaction, whoever makes it. */
import type { Call } from "../http/endpoint.ts";
import { type Answer, etag, splice, textAnswer } from "../http/answer.ts";
import { AppError, invalidField } from "../kit/errors.ts";
import { countProposal, limitReached } from "./agent_limits.ts";
import { actorOf, requirePerson } from "./caller.ts";
import { keepDraft, type NotFiled, whyNotFiled } from "./drafts.ts";
import type { ChangesDeps } from "./deps.ts";
import { liveOn, readRecord } from "./records.ts";
import { proposalFacts } from "./proposal_facts.ts";
import { actorBehind, present, type ProofInput } from "./proof_input.ts";
import { recordRefusal } from "./refusals.ts";
import { type Actor, serviceItself, signerActor } from "./rules/actor.ts";
import type { Change } from "./rules/change.ts";
import { digestOf } from "./rules/content.ts";
import type { Asked, ProposeInput } from "./rules/command.ts";
import { type Graded, proposedContent } from "./rules/propose.ts";
import { whyNotSuperseding } from "./rules/supersede.ts";
import { isAgent } from "./rules/principals.ts";
import type { Presented } from "./rules/signing.ts";
import type { Tx } from "../store/store.ts";
import { liveTold, ownerTold } from "./target_told.ts";
import { type Enacted, governed, type Transaction } from "./transaction.ts";

/** Files a proposal and answers 201 with the change and its entry. Its proposer is the agent, or whom a trusted proxy names. */
export function submitProposal(
  call: Call<ChangesDeps>,
  { proof, at, ...stated }: ProposeInput & ProofInput,
): Promise<Answer> {
  const actor = actorOf(call, stated.proposer);
  const proposer = call.agent ?? stated.proposer ?? actor.actor ?? undefined;
  return governed(call, async (transaction) => {
    requirePerson(call, "proposer", stated.proposer);
    const filed = await file(transaction, { ...stated, proposer }, actor, { proof, at });
    if (filed instanceof AppError) return filed;
    const { change, entry, record, conflicts, target_spelling } = filed;
    const told = { conflicts, ...(target_spelling === undefined ? {} : { target_spelling }), audit_entry: entry };
    return textAnswer(splice(told, change), 201, { etag: etag(record.change.revision) });
  });
}

/** The record of a draft, in which the same transaction notes the change. */
export interface DraftRecord {
  /** The id of the change that the draft was stored as before. */
  storedAs(tx: Tx): Promise<string | undefined>;
  markStored(tx: Tx, changeId: string): void;
}

/** Files a model's draft once: a proposal like any other, that is never minor and waits for people. */
export async function submitDraft(
  deps: ChangesDeps,
  input: ProposeInput & { proposer: `llm:${string}` },
  asked: Asked,
  draftRecord?: DraftRecord,
): Promise<Pick<Change, "change_id"> | NotFiled> {
  const filed = await governed<Pick<Change, "change_id"> | NotFiled>({ deps }, async (transaction) => {
    const stored = await draftRecord?.storedAs(transaction.tx);
    if (stored !== undefined) return { change_id: stored };
    const reason = await whyNotFiled(transaction, input);
    if (reason) return reason;
    const draft = await file(transaction, input, serviceItself(input.proposer), {}, asked);
    if (draft instanceof AppError) return draft;
    keepDraft(transaction, draft.record.change);
    draftRecord?.markStored(transaction.tx, draft.record.change.change_id);
    return draft.record.change;
  });
  return filed as Pick<Change, "change_id"> | NotFiled;
}

/** A refusal that is recorded is returned, any other thrown. */
async function file(
  transaction: Transaction,
  requested: ProposeInput,
  stated: Actor,
  proven: ProofInput,
  asked?: Asked,
): Promise<(Enacted & { conflicts: string[]; target_spelling?: string }) | AppError> {
  const { tx, at } = transaction;
  const facts = await proposalFacts(transaction, requested, at);
  const { input } = facts;
  const target_owner = input.tier === "minor" ? await ownerTold(transaction, input) : null;
  const isDecidedBy = transaction.product.intent.policy.on_conflict === "block";
  const conflicts = await (isDecidedBy ? liveTold(transaction, input) : liveOn(tx, input));
  if (input.supersedes !== undefined) {
    const of = (await readRecord(tx, input.supersedes))?.change;
    const refused = of ? whyNotSuperseding(of, input) : "names no change";
    if (refused !== undefined) throw invalidField("supersedes", refused);
  }
  const agent = input.proposer !== undefined && isAgent(input.proposer, transaction.product.intent) && input.proposer;
  const limit_reached = agent ? await limitReached(transaction, agent) : undefined;
  const signature = await presented(transaction, facts, proven);
  const actor = actorBehind(input.proposer ?? "", signature, stated);
  let enacted: Enacted;
  try {
    const command = {
      type: "propose",
      ...facts,
      target_owner,
      live: conflicts,
      limit_reached,
      asked,
      signature,
    } as const;
    enacted = transaction.enact(undefined, command, actor);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "forbidden_target") throw error;
    await recordRefusal(transaction, input, error, actor);
    return error;
  }
  if (agent) await countProposal(transaction, agent);
  return { ...enacted, conflicts, ...respelled(requested.target, input.target) };
}

/** Says that the target is recorded as it was first applied, and not as requested. */
const respelled = (requested: string, recorded: string): { target_spelling?: string } =>
  requested === recorded
    ? {}
    : { target_spelling: `Recorded as ${recorded}, as it was first applied; the request spelled it ${requested}.` };

async function presented(
  transaction: Transaction,
  command: Graded,
  proven: ProofInput,
): Promise<Presented | undefined> {
  const { proposer } = command.input;
  if (proven.proof === undefined && proven.at === undefined) return undefined;
  if (proposer === undefined) throw invalidField("proposer", "is required beside proof");
  const { intent } = transaction.product;
  const digest = digestOf(proposedContent(command, { intent, actor: signerActor(proposer) }), transaction.sha256);
  return present(transaction, { decision: "propose", digest, approver: proposer, note: "" }, proven);
}
