/** The consent of a mandate to a change that lies inside it. */
import type { Approval, Change } from "./change.ts";
import type { Policy } from "./intent.ts";
import { mandateNamed } from "./mandate.ts";

/** Facts that the entry of such a consent records. */
export interface MandateApproval {
  mandate_id: string;
  revision: number;
  /** The entry since which the mandate counts. */
  entry: number;
  /** The number of the change among those that the mandate approved on the UTC day. */
  number: number;
  /** How many more it may approve on the day, and have open. */
  left: { today: number; open: number };
}

/** Returns true for the consent of a mandate. */
export const isByMandate = ({ approver }: Pick<Approval, "approver">): boolean => mandateNamed(approver) !== undefined;

/** Returns the mandate that approved a change; undefined where none did. */
export const approvingMandate = ({ approvals }: Pick<Change, "approvals">): string | undefined =>
  mandateNamed(approvals.find(isByMandate)?.approver);

/** Returns true where a mandate's consent counts; `inactive` marks one that does not now. */
export const isMandated = ({ approvals }: Pick<Change, "approvals">, { mandates }: Pick<Policy, "mandates">): boolean =>
  mandates !== undefined && approvals.some((approval) => isByMandate(approval) && !approval.inactive);
