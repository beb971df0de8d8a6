/** Records proposals that the intent forbids, up to a daily limit. */
import type { AppError } from "../kit/errors.ts";
import { type Actor, serviceActor } from "./rules/actor.ts";
import type { ProposeInput } from "./rules/command.ts";
import type { Transaction } from "./transaction.ts";

/** Daily limit of recorded rejections, so that rejected proposals cannot fill the log. */
const MAX_RECORDED_PER_DAY = 100;

/** Records a rejection. Rejections beyond the daily limit are only counted; the first rejection of a later day records the count. */
export async function recordRejection(
  { tx, at, product, append }: Transaction,
  { kind, target, tenant_id, proposer }: ProposeInput,
  { code }: AppError,
  actor: Actor,
): Promise<void> {
  const day = at.slice(0, 10);
  const stored = (await tx.get("counts", "refused"))?.value;
  const earlierCount = stored?.day === day ? stored.count : 0;
  if (stored && stored.day !== day && stored.count > MAX_RECORDED_PER_DAY)
    append({
      event_type: "proposal_refused",
      detail: { count: stored.count - MAX_RECORDED_PER_DAY, day: stored.day, ...serviceActor() },
    });
  if (earlierCount < MAX_RECORDED_PER_DAY) {
    const { manifest_hash } = product;
    append({
      event_type: "proposal_refused",
      tenant: tenant_id,
      detail: { code, kind, target, proposer: proposer ?? null, manifest_hash, ...actor },
    });
  }
  tx.put("counts", "refused", { day, count: earlierCount + 1 });
}
