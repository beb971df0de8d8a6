/** Lists the actions on a change that a reader may take now, by the rules that judge the actions themselves. Pure. */
import * as z from "zod";
import { AppError } from "../../kit/errors.ts";
import { once } from "../../kit/once.ts";
import { type Actor, signerActor } from "./actor.ts";
import type { Change } from "./change.ts";
import type { Command, Context } from "./command.ts";
import type { Gate } from "./gates.ts";
import { isOpenChange, isReviewDue } from "./current_state.ts";
import { hasNoValue } from "./list_entries.ts";
import { explainOverdue } from "./overdue.ts";
import { requirePermission } from "./permissions.ts";
import type { Proof } from "./proof.ts";
import type { ChangeRecord } from "./record.ts";
import { type SignatureResult, requireSignature } from "./require_signature.ts";
import { isRollingOut } from "./rollout_state.ts";
import { listKeys } from "./signing.ts";
import type { StageAction } from "./stage_action.ts";
import { requireStageOpen, requireStagePerson } from "./stage_rules.ts";
import { decide, requireOperable } from "./state_machine.ts";
import { listAllowedActions } from "./transitions.ts";

/** Actions that a change may offer, in the order of display. */
const OFFERED_ACTIONS = [
  "review",
  "advance",
  "resume",
  "hold",
  "approve",
  "apply",
  "rollback",
  "deny",
  "withdraw",
  "revoke",
  "approve_emergency",
  "restore",
] as const;
export type OfferedAction = (typeof OFFERED_ACTIONS)[number];

export const offersSchema = once(() =>
  z
    .object({
      name: z
        .string()
        .nullable()
        .meta({ description: "The reader; null: no name.", examples: ["ana@acme.example"] }),
      may: z.array(z.enum(OFFERED_ACTIONS)).describe("Acts that are open to the reader now."),
      may_not: z
        .array(
          z.object({
            action: z.enum(OFFERED_ACTIONS).describe("The act."),
            reasons: z.array(z.string()).describe("Why it is closed, in sentences."),
          }),
        )
        .describe("Acts that are closed to the reader."),
    })
    .describe("Acts of the reader, by the rules of the intent."),
);

export type Offers = z.infer<ReturnType<typeof offersSchema>>;

/** A change, and the facts that decide on its actions. */
export interface OfferInput {
  record: Pick<ChangeRecord, "change" | "rollout">;
  /** The change with only those consents that count. */
  proven: Change;
  gates: readonly Gate[];
  /** True if the target holds another value than the change set. */
  isDrifted: boolean;
}

/** The rules in force, and the moment in milliseconds since the epoch. */
export interface OfferContext extends Omit<Context, "actor"> {
  now: number;
}

/** A named reader. If the reader has a key, the actions are judged as if signed with it. */
interface NamedReader {
  name: string;
  /** The actor that the request names. */
  claimed: Actor;
  /** The actor after the assumed signature. */
  actor: Actor;
  signature: SignatureResult | undefined;
}

/** Judges each action for a reader; without a name, by the change alone. */
export function judgeOffers(input: OfferInput, claimed: Actor, context: OfferContext): Offers {
  const reader = claimed.actor === null ? undefined : createReader({ ...claimed, actor: claimed.actor }, context);
  const offers: Offers = { name: claimed.actor, may: [], may_not: [] };
  // An agent can only withdraw.
  const actions = claimed.authenticated === "agent" ? (["withdraw"] as const) : OFFERED_ACTIONS;
  for (const action of actions) {
    const reasons = JUDGES[action](input, context, reader);
    if (reasons?.length === 0) offers.may.push(action);
    else if (reasons) offers.may_not.push({ action, reasons });
  }
  return offers;
}

/** Creates the reader. A reader with a key is assumed to sign with it; the rules read only the key of that signature. */
function createReader(claimed: Actor & { actor: string }, { intent }: OfferContext): NamedReader {
  const name = claimed.actor;
  const key = listKeys(name, intent.policy.signing)[0];
  if (!key) return { name, claimed, actor: claimed, signature: undefined };
  return {
    name,
    claimed,
    actor: { ...claimed, ...signerActor(name) },
    signature: { key, statement: "", proof: {} as Proof },
  };
}

/** Returns why an action is not possible, empty if it is possible; undefined if it does not apply to the change now. */
type JudgeAction = (input: OfferInput, context: OfferContext, reader: NamedReader | undefined) => string[] | undefined;

/** Runs a check and lists its rejection: empty if it passes, undefined if the action does not apply to the change now. */
function listRejections(check: () => void): string[] | undefined {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return error.code === "illegal_transition" ? undefined : [error.message];
  }
}

const judgeCommand = (
  change: Change,
  command: Pick<Extract<Command, { type: "approve" | "deny" | "withdraw" | "revoke" | "review" }>, "type"> & object,
  { reader, context }: { reader: NamedReader; context: OfferContext },
): string[] | undefined => {
  const { name, actor, signature } = reader;
  // Placeholders for the fields that the reader would fill in; they pass every check.
  const completeCommand = {
    note: "-",
    name,
    signature,
    target_owner: null,
    verdict: "accepted",
    ...command,
  } as Command;
  return listRejections(() => void decide(change, completeCommand, { ...context, actor }));
};

const judgeConsent =
  (type: "approve" | "deny" | "withdraw" | "revoke"): JudgeAction =>
  ({ record, proven }, context, reader) => {
    const change = type === "approve" ? proven : record.change;
    if (!listAllowedActions(change, context.intent).includes(type)) return undefined;
    const overdue = type === "approve" ? explainOverdue(change, context) : undefined;
    if (overdue !== undefined) return [overdue];
    return reader ? judgeCommand(change, { type }, { reader, context }) : [];
  };

/** Judges an emergency consent: undefined without a name, without `break_glass`, or once the change is overdue. */
const judgeEmergency: JudgeAction = ({ proven }, context, reader) => {
  if (!reader || !context.intent.policy.break_glass || explainOverdue(proven, context) !== undefined) return undefined;
  const command = { type: "approve", emergency: true } as const;
  return judgeCommand(proven, command, { reader, context });
};

const judgeReview: JudgeAction = ({ record: { change } }, context, reader) => {
  if (!isReviewDue(change)) return undefined;
  return reader ? judgeCommand(change, { type: "review" }, { reader, context }) : [];
};

const judgeStage =
  (action: StageAction): JudgeAction =>
  ({ record }, { intent }, reader) => {
    const { change, rollout } = record;
    if (!isRollingOut(change) || !rollout) return undefined;
    if (action === "advance" && change.exposure!.waits_for !== "manual") return undefined;
    return listRejections(() => {
      requireStageOpen(action, record, intent);
      if (!reader) return;
      const { name, claimed, actor, signature } = reader;
      requireStagePerson(action, change, { claimed, name, intent });
      requireSignature({ type: action === "hold" ? "stage_hold" : "stage", name, signature }, intent.policy, actor);
    });
  };

/** Judges the permission and the signature that an operation requires of its actor, which are never an illegal transition. */
const judgeActor = (
  type: "apply" | "rollback" | "restore",
  { claimed, actor, name, signature }: NamedReader,
  { intent }: OfferContext,
): string[] =>
  listRejections(() => {
    requirePermission(type, claimed, intent);
    requireSignature({ type, name, signature }, intent.policy, actor);
  })!;

const listBlocks = (gates: readonly Gate[], only?: Gate["gate"]): string[] =>
  gates
    .filter(({ gate, state }) => state === "block" && (only === undefined || gate === only))
    .map(({ message }) => message);

const judgeApply: JudgeAction = ({ record, proven, gates }, context, reader) => {
  if (!isOpenChange(record.change.status)) return undefined;
  const blocks = listBlocks(gates);
  const rejections = listRejections(() => requireOperable(proven, "apply", context.intent));
  if (blocks.length === 0 && rejections === undefined) return undefined;
  // Blocking gates say more than the rejection that they cause.
  const reasons = blocks.length > 0 ? blocks : rejections!;
  return [...reasons, ...(reader ? judgeActor("apply", reader, context) : [])];
};

const judgeRollback: JudgeAction = ({ record: { change }, gates }, context, reader) => {
  if (!listRejections(() => requireOperable(change, "rollback", context.intent))) return undefined;
  return [...listBlocks(gates, "operation"), ...(reader ? judgeActor("rollback", reader, context) : [])];
};

const judgeRestore: JudgeAction = ({ record: { change }, isDrifted }, context, reader) => {
  if (!isDrifted || hasNoValue(change) || change.status !== "applied") return undefined;
  return reader ? judgeActor("restore", reader, context) : [];
};

const JUDGES: Readonly<Record<OfferedAction, JudgeAction>> = {
  review: judgeReview,
  advance: judgeStage("advance"),
  resume: judgeStage("resume"),
  hold: judgeStage("hold"),
  approve: judgeConsent("approve"),
  apply: judgeApply,
  rollback: judgeRollback,
  deny: judgeConsent("deny"),
  withdraw: judgeConsent("withdraw"),
  revoke: judgeConsent("revoke"),
  approve_emergency: judgeEmergency,
  restore: judgeRestore,
};
