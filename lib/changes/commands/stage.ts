/** Actions of a person on a rollout: hold it, resume it, or advance a step that waits for a person. */
import { findActor, type Caller, requirePerson, requireRevision } from "../caller.ts";
import {
  listOtherLeases,
  createLeaseError,
  readLease,
  selectOtherLease,
  createTargetInUseError,
} from "../operations/lease.ts";
import { resolveLeases } from "../operations/recover.ts";
import { findCarrier } from "../locations.ts";
import { resolveActor, verifyPresentedProof, type ProofInput } from "../proof_input.ts";
import type { ReplayedReply } from "../replies.ts";
import type { Actor } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { createStageRejection, requireRollout } from "../rules/require_rollout.ts";
import { requireSignature } from "../rules/require_signature.ts";
import type { StageAction } from "../rules/stage_action.ts";
import { requireStageOpen, requireStagePerson } from "../rules/stage_rules.ts";
import { createChangeFacts } from "../rules/statement.ts";
import { judgeRollout } from "../rollouts/judge_rollout.ts";
import { type OrderedAdvance, orderAdvance, runAdvance } from "../rollouts/advance_target.ts";
import { recordAdvance } from "../rollouts/record_advance.ts";
import { readSamples, toFedTotals } from "../rollouts/samples.ts";
import type { OperationResult } from "../operations/start.ts";
import { type CommandResult, runTransaction, type Transaction } from "../transaction.ts";

/** An action on a rollout, with its actor. */
export interface StageInput extends ProofInput {
  change_id: string;
  /** The current step of the rollout; for a hold, any step reached so far. */
  step: number;
  action: StageAction;
  actor: string;
  note?: string | undefined;
}

/** Records an action on a rollout. A hold stops only advances; the rule may still roll back. */
export async function changeStage(caller: Caller, input: StageInput): Promise<OperationResult | ReplayedReply> {
  const { change_id, action, step, note = "" } = input;
  const { deps } = caller;
  const runAction = () =>
    runTransaction(
      caller,
      async (transaction): Promise<OperationResult | OrderedAdvance> => {
        const { intent } = transaction.product;
        const record = await transaction.change(change_id);
        const { change } = record;
        const currentStep = change.exposure?.step ?? -1;
        // A hold may name an earlier step, since the rule may have advanced in the meantime.
        const requiredStep = action === "hold" && step < currentStep ? currentStep : step;
        requireRollout(change, requiredStep, intent);
        requireStageOpen(action, record, intent);
        const prepared = await PREPARE_BY_ACTION[action](transaction, record);
        const authorized = await authorize(transaction, caller, change, input);
        await prepared.requireUnblocked?.();
        requireRevision(caller, change.revision);
        const result = await prepared.execute({ note, owner: deps.owner, ...authorized });
        return "lease" in result ? result : { ...result, adapter: null };
      },
      { ignoresClockLag: action === "hold" },
    );
  // Only an advance uses a target system, so a hold never waits for the lock.
  if (action === "advance") await resolveLeases(deps, change_id);
  const run = async () => {
    const result = await runAction();
    return "lease" in result ? runAdvance(caller, result) : result;
  };
  return action === "advance" ? deps.mutex(change_id, run) : run();
}

/** An authorized action: actor, facts of the signature, and the process that takes a lease for it. */
interface AuthorizedAction extends Actor {
  note: string;
  signed: object;
  owner: string;
}

/** An action that the rollout allows now, before its caller is authorized. */
interface PreparedAction {
  /** Requires that nothing that would block an apply blocks the action. Errors: those of an apply. */
  requireUnblocked?(): Promise<void>;
  execute(action: AuthorizedAction): CommandResult | OrderedAdvance;
}

const pickActionFacts = ({ note, signed }: AuthorizedAction): object => ({ ...(note && { note }), ...signed });

/** Returns the actor with the facts of a signature. Errors: 403 `not_permitted`, `not_an_approver`, those of a signature. */
async function authorize(
  transaction: Transaction,
  caller: Caller,
  change: Change,
  { action, actor: name, step, note = "", proof, at }: StageInput,
): Promise<Actor & { signed: object }> {
  const { intent } = transaction.product;
  requirePerson(caller, "actor", name);
  const claimed = findActor(caller, name);
  requireStagePerson(action, change, { claimed, name, intent });
  const facts = {
    decision: "stage",
    ...createChangeFacts("stage", change),
    step,
    action,
    approver: name,
    note,
  } as const;
  const signature = await verifyPresentedProof(transaction, facts, { proof, at });
  const actor = resolveActor(name, signature, claimed);
  const type = action === "hold" ? "stage_hold" : "stage";
  return { ...actor, signed: requireSignature({ type, name, signature }, intent.policy, actor) };
}

async function prepareHold(transaction: Transaction, record: ChangeRecord): Promise<PreparedAction> {
  return {
    execute(action) {
      const circumstance = { decision: "hold", reason: "by_hand", ...pickActionFacts(action) };
      return executeStage(transaction, record, "held", circumstance, action);
    },
  };
}

/** Ends a hold; after a mismatch the entry has the totals from which the split and an advance are judged again. */
async function prepareResume(transaction: Transaction, record: ChangeRecord): Promise<PreparedAction> {
  const { change, rollout } = record;
  const totals = rollout!.mismatch && (await readSamples(transaction.tx, change.change_id)).map(toFedTotals);
  return {
    execute(action) {
      const circumstance = { ...(totals && { totals }), ...pickActionFacts(action) };
      return executeStage(transaction, record, "resumed", circumstance, action);
    },
  };
}

/** Takes a step that waits for a person and for nothing else. */
async function prepareAdvance(transaction: Transaction, record: ChangeRecord): Promise<PreparedAction> {
  const { change } = record;
  const verdict = await judgeRollout(transaction, record, { byHand: true });
  if (!verdict.error && verdict.decision !== "advance")
    throw createStageRejection(change, `it waits for ${verdict.reason}`, transaction);
  return {
    async requireUnblocked() {
      const lease = await readLease(transaction.tx, change);
      if (lease) throw createLeaseError(lease);
      const other = selectOtherLease(change, await listOtherLeases(transaction.tx, [change]));
      if (other) throw createTargetInUseError(change.change_id, other);
      if (verdict.error) throw verdict.error;
    },
    execute({ actor, authenticated, idp, note, owner, signed }) {
      const advancer = { actor, authenticated, ...(idp && { idp }) };
      const facts = { ...verdict.facts, ...(note && { note }) };
      const { adapter, manifest_hash } = transaction.product;
      if (!findCarrier(adapter, change))
        return recordAdvance(transaction, record, { circumstance: { ...facts, ...signed }, actor: advancer });
      const isSigned = Object.keys(signed).length > 0;
      return orderAdvance(transaction, record, {
        circumstance: facts,
        signed: isSigned ? { manifest_hash, facts: signed } : undefined,
        ...advancer,
        owner,
      });
    },
  };
}

const PREPARE_BY_ACTION = { hold: prepareHold, resume: prepareResume, advance: prepareAdvance } as const;

const executeStage = (
  transaction: Transaction,
  record: ChangeRecord,
  event: "held" | "resumed",
  circumstance: object,
  actor: Actor,
): CommandResult =>
  transaction.execute(record, { type: "stage", event, step: record.change.exposure!.step, circumstance }, actor);
