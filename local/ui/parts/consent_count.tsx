import type { Change, ChangeDetail } from "../core/api_types.ts";
import { counted } from "../core/format.ts";
import { countApprovals } from "../domain/sentences.ts";

type Counted = Pick<Change, "status" | "approvals" | "required_approvers"> & Partial<Pick<ChangeDetail, "missing">>;

/** "1 of 2 consents", for what still waits: those that count today where the service says what is missing. */
export function ConsentCount({ change: { status, approvals, required_approvers, missing } }: { change: Counted }) {
  if (status !== "pending_consent") return null;
  const { given, needed } = missing
    ? countApprovals({ required_approvers, missing })
    : { given: approvals.filter(({ emergency }) => !emergency).length, needed: required_approvers };
  return (
    <span>
      {given} of {counted(needed, "consent")}
    </span>
  );
}
