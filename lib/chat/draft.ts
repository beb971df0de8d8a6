/** A change that a language model drafts: a proposal like any other, that waits for people's consent. */
import * as z from "zod";
import type { GovernanceDeps } from "../governance/deps.ts";
import { KINDS, RISKS } from "../governance/rules/change.ts";
import { kpiNames } from "../governance/rules/intent.ts";
import type { ProductRuntime } from "../governance/runtime.ts";
import { submitDraft } from "../governance/submit_proposal.ts";
import { finiteNumber, flag, freeText, line, target, wholeNumber, word } from "../http/form.ts";

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

/** Files the draft as a proposal. Errors: whatever a proposal meets, 403 `forbidden_target` and 409 `target_conflict`. */
export const fileDraft = (deps: GovernanceDeps, input: DraftInput, { model, by, message_id }: Asked) =>
  submitDraft(deps, { ...input, proposer: `llm:${model.slice(0, 190)}` }, { asked_by: by, message_id });
