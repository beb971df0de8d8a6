import type { Deps } from "../deps.ts";
import { expireIfDue } from "./decide.ts";
import { isExpired } from "./policy.ts";
import type { ChangeRecord } from "./records.ts";
import { governed } from "./unit.ts";

const BATCH = 100;
const PENDING = "pending_consent:";

/** Denies pending changes whose time is over, oldest first, and returns how many; nothing is written when none is due. */
export async function expireDue(deps: Deps): Promise<number> {
  const { policy } = deps.product!.intent;
  if (policy.consent_ttl_hours === undefined) return 0;
  let expired = 0;
  for (const { id } of await deps.store.list("live", { after: PENDING, limit: BATCH })) {
    if (!id.startsWith(PENDING)) break;
    const changeId = id.slice(PENDING.length);
    const record = (await deps.store.get<ChangeRecord>("changes", changeId))?.value;
    if (!record || !isExpired(record.change, policy, deps.clock.now())) break;
    await governed<void>({ deps }, async (unit) => {
      await expireIfDue(unit, await unit.change(changeId));
    });
    expired++;
  }
  return expired;
}
