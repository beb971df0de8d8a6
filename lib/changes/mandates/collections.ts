/** Collections of mandates. */
import type { Tx } from "../../store/store.ts";
import { agentKey } from "../records.ts";
import type { Change } from "../rules/change.ts";
import { isLive } from "../rules/in_force.ts";
import { approvingMandate } from "../rules/mandate_approval.ts";
import type { MandateRecord } from "../rules/mandate_record.ts";

declare module "../../store/store.ts" {
  interface Collections {
    mandates: MandateRecord;
    /** `<agent\nmandate_id>`: mandates that are signed and have not ended. */
    mandates_by_agent: true;
    /** `<mandate_id\nchange_id>`: changes that a mandate approved and that are neither applied nor denied. */
    open_by_mandate: true;
  }
}

/** The key of a mandate among those of its agent. */
export const signedKey = ({ bounds, mandate_id }: MandateRecord): string => agentKey(bounds.agent) + mandate_id;

/** Returns true for a mandate that is signed and has not ended. */
export const isListed = ({ state }: MandateRecord): boolean => state === "active" || state === "suspended";

/** Stores a mandate, and its row among those of its agent. */
export function storeMandate(tx: Tx, mandate: MandateRecord): void {
  tx.put("mandates", mandate.mandate_id, mandate);
  if (isListed(mandate)) tx.put("mandates_by_agent", signedKey(mandate), true);
  else if (mandate.state === "ended") tx.delete("mandates_by_agent", signedKey(mandate));
}

/** The key of a live change among those that its mandate approved; undefined where none did. */
export function mandateKey(change: Change): string | undefined {
  const mandate = isLive(change.status) ? approvingMandate(change) : undefined;
  return mandate === undefined ? undefined : `${mandate}\n${change.change_id}`;
}
