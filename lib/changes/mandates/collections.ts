/** Collections of mandates. */
import type { Tx } from "../../store/store.ts";
import { formatAgentKey } from "../records.ts";
import type { MandateRecord } from "../rules/mandate_record.ts";

declare module "../../store/store.ts" {
  interface Collections {
    mandates: MandateRecord;
    /** `<agent\nmandate_id>`: mandates that are signed and have not ended. */
    mandates_by_agent: true;
  }
}

/** Returns the key of a mandate in `mandates_by_agent`. */
export const agentMandateKey = ({ bounds, mandate_id }: MandateRecord): string =>
  formatAgentKey(bounds.agent) + mandate_id;

/** Returns true for a mandate that is signed and has not ended. */
export const isSignedMandate = ({ state }: MandateRecord): boolean => state === "active" || state === "suspended";

/** Stores a mandate, and its row among those of its agent. */
export function storeMandate(tx: Tx, mandate: MandateRecord): void {
  tx.put("mandates", mandate.mandate_id, mandate);
  if (isSignedMandate(mandate)) tx.put("mandates_by_agent", agentMandateKey(mandate), true);
  else if (mandate.state === "ended") tx.delete("mandates_by_agent", agentMandateKey(mandate));
}
