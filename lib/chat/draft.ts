/** A change that a language model drafts: a proposal like any other, that waits for people's consent. */
import * as z from "zod";
import type { PulseDeps } from "../pulse/deps.ts";
import { AppError } from "../kit/errors.ts";
import { finiteNumber, flag, freeText, line, target, wholeNumber, word } from "../http/form.ts";
import { liveOn } from "../governance/submit_proposal.ts";
import { type Change, KINDS, RISKS } from "../governance/rules/change.ts";
import { kpiNames } from "../governance/rules/intent.ts";
import { propose } from "../governance/rules/propose.ts";
import type { ProductRuntime } from "../governance/runtime.ts";
import { governed, type Unit } from "../governance/transaction.ts";
import { addGrowth } from "../follow/growth_log.ts";
import type { Tx } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Collections {
    llm_drafts: true;
  }
}

/** Open drafts at most: what nobody looks at must not pile up. */
export const OPEN_DRAFTS = 5;

/** What a model may state. No tier: a draft is never minor. No proposer: it is the model. */
export const draftSchema = ({ intent }: ProductRuntime) =>
  z.strictObject({
    tenant_id: line(200),
    kind: word(KINDS),
    target,
    summary: line(500),
    rationale: freeText(4000),
    expected_delta_k: finiteNumber.optional(),
    affected_users: wholeNumber(0).optional(),
    reversible: flag.optional(),
    risk: word(RISKS).optional(),
    value: z.unknown().optional(),
    kpi: word(kpiNames(intent) as [string, ...string[]]).optional(),
  });
export type DraftInput = z.output<ReturnType<typeof draftSchema>>;

/** Who asked the model, and in which message. */
export interface Asked {
  model: string;
  by: string | null;
  message_id: string;
}

/** Too many drafts wait already; the ids of those that do. */
export interface TooMany {
  open: string[];
}

/** Files the draft as a proposal. Errors: whatever a proposal meets, 403 `forbidden_target` and 409 `target_conflict`. */
export async function fileDraft(deps: PulseDeps, input: DraftInput, asked: Asked): Promise<Change | TooMany> {
  const filed = await governed<Change | TooMany>({ deps }, async (unit) => {
    const open = await openDrafts(unit.tx);
    if (open.length >= OPEN_DRAFTS) return { open };
    const proposal = { ...input, proposer: `llm:${asked.model.slice(0, 190)}` };
    const context = {
      product: unit.product,
      sha256: unit.sha256,
      changeId: `chg_${unit.ids.uuid(unit.now)}`,
      at: unit.at,
      minorToday: 0,
      live: await liveOn(unit.tx, input),
    };
    let decided: ReturnType<typeof propose>;
    try {
      decided = propose(proposal, context);
    } catch (error) {
      if (error instanceof AppError && error.code === "forbidden_target") return refused(unit, input, error);
      throw error;
    }
    const { record } = await unit.save(undefined, decided.change, {
      event_type: "change_proposed",
      detail: { ...decided.detail, asked_by: asked.by, message_id: asked.message_id },
    });
    unit.tx.put("llm_drafts", record.change.change_id, true);
    return record.change;
  });
  return filed as Change | TooMany;
}

/** The drafts that still wait for consent; others are taken off the list. */
async function openDrafts(tx: Tx): Promise<string[]> {
  const open: string[] = [];
  for (const { id } of await tx.list("llm_drafts", { limit: OPEN_DRAFTS })) {
    const status = (await tx.get("changes", id))?.value.change.status;
    if (status === "pending_consent") open.push(id);
    else tx.delete("llm_drafts", id);
  }
  return open;
}

async function refused(unit: Unit, input: DraftInput, refusal: AppError): Promise<AppError> {
  await addGrowth(unit.tx, {
    at: unit.at,
    kind: "proposal_refused",
    title: `A model's draft on ${input.target} was refused`,
    detail: refusal.message,
  });
  return refusal;
}
