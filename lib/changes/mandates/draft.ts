/** Drafts a mandate. A draft writes no entry and ends after seven days. */
import { DAY_MS } from "../../kit/days.ts";
import { AppError, invalidField } from "../../kit/errors.ts";
import { type Caller, requirePerson } from "../caller.ts";
import type { ReplayedReply } from "../replies.ts";
import type { MandateBounds } from "../rules/mandate.ts";
import { requireAllowedMandate } from "../rules/mandate_allowed.ts";
import { makeDraft, type MandateRecord } from "../rules/mandate_record.ts";
import { normalizeName } from "../rules/names.ts";
import { findPrincipal } from "../rules/principals.ts";
import { listRecords } from "../../store/pages.ts";
import { runTransaction, type Transaction } from "../transaction.ts";
import { requireKnownKpis } from "./kpi_floor.ts";
import { listReachedSystems } from "./systems.ts";
import { type MandateView, viewMandate } from "./view.ts";

const MAX_DRAFTS = 100;
const DRAFT_TTL_MS = 7 * DAY_MS;

/** The bounds of a draft; absent counts are the policy's. */
export interface DraftInput extends Omit<MandateBounds, "max_per_day" | "max_open"> {
  max_per_day?: number | undefined;
  max_open?: number | undefined;
  note?: string | undefined;
  actor?: string | undefined;
}

/** A draft. */
export interface DraftResult {
  entry: null;
  mandate: MandateView;
}

/** Returns true for a draft that is too old to be signed. */
export const isOldDraft = ({ state, created_at }: MandateRecord, now: number): boolean =>
  state === "draft" && now > Date.parse(created_at) + DRAFT_TTL_MS;

/** Makes a draft. Errors: 400 `invalid_field`, 403 `mandate_not_allowed`, 429 `too_many_open`. */
export function draftMandate(caller: Caller, input: DraftInput): Promise<DraftResult | ReplayedReply> {
  const { ids } = caller.deps;
  return runTransaction(caller, async (transaction): Promise<DraftResult> => {
    const { tx, product, now, at } = transaction;
    const { policy } = product.intent;
    requirePerson(caller, "actor", input.actor);
    const bounds = readBounds(input, transaction);
    requireAllowedMandate(bounds, policy, Date.parse(at));
    if ((await sweepDrafts(tx, Date.parse(at))) >= MAX_DRAFTS)
      throw new AppError("too_many_open", `there are ${MAX_DRAFTS} drafts of mandates; sign or revoke one`, {
        limit: "drafts",
        max: MAX_DRAFTS,
      });
    const mandate_id = `mdt_${ids.uuid(now)}`;
    const systems = listReachedSystems(product.adapter, bounds);
    const mandate = makeDraft({ mandate_id, bounds, systems, created_at: at, note: input.note ?? "" });
    tx.put("mandates", mandate_id, mandate);
    return { entry: null, mandate: await viewMandate(transaction, mandate) };
  });
}

/** Returns the bounds of a draft; counts that are not stated come from the policy. Errors: 400 `invalid_field`. */
function readBounds({ note: _, actor: __, ...stated }: DraftInput, { product, at }: Transaction): MandateBounds {
  const { intent } = product;
  const agent = normalizeName(stated.agent);
  if (findPrincipal(agent, intent)?.kind !== "agent") throw invalidField("agent", "must be an agent of the intent");
  requireKnownKpis(stated.kpi_floor, intent);
  if (stated.until <= at) throw invalidField("until", "must be in the future");
  if (stated.from !== undefined && stated.from >= stated.until) throw invalidField("from", "must be before until");
  // Without policy.mandates the draft is rejected later, whatever its counts.
  const { max_per_day = 1, max_open = 1 } = intent.policy.mandates ?? {};
  const statedBounds = Object.fromEntries(Object.entries(stated).filter(([, value]) => value !== undefined));
  return { max_per_day, max_open, ...statedBounds, agent } as unknown as MandateBounds;
}

/**
 * Removes drafts that are too old and have no signature, and returns the number of drafts that are not too old. A signed draft
 * stays, since the log has entries about it.
 */
export async function sweepDrafts(tx: Transaction["tx"], now: number): Promise<number> {
  let draftCount = 0;
  for await (const { id, value } of listRecords(tx, "mandates"))
    if (isOldDraft(value, now) && value.audit.length === 0) tx.delete("mandates", id);
    else if (value.state === "draft" && !isOldDraft(value, now)) draftCount++;
  return draftCount;
}
