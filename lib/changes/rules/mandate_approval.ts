/** The consent of a mandate to a change that lies inside it. */
import type { Approval, Change } from "./change.ts";
import type { Policy } from "./intent.ts";
import { parseMandateName } from "./mandate.ts";

/** Facts in the entry of a mandate's consent. */
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

export const isMandateApproval = ({ approver }: Pick<Approval, "approver">): boolean =>
  parseMandateName(approver) !== undefined;

/** Returns the mandate that approved a change; undefined if none did. */
export const findApprovingMandate = ({ approvals }: Pick<Change, "approvals">): string | undefined =>
  parseMandateName(approvals.find(isMandateApproval)?.approver);

/** Returns true if a mandate's consent counts; `inactive` marks one that does not now. */
export const isApprovedByMandate = (
  { approvals }: Pick<Change, "approvals">,
  { mandates }: Pick<Policy, "mandates">,
): boolean => mandates !== undefined && approvals.some((approval) => isMandateApproval(approval) && !approval.inactive);
