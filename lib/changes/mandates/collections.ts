/** Collections of mandates. */
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

/** The key of a live change among those that its mandate approved; undefined where none did. */
export function mandateKey(change: Change): string | undefined {
  const mandate = isLive(change.status) ? approvingMandate(change) : undefined;
  return mandate === undefined ? undefined : `${mandate}\n${change.change_id}`;
}
