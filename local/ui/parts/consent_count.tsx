import type { Change, ChangeDetail } from "../core/api_types.ts";
import { formatCount } from "../core/format.ts";
import { countApprovals } from "../domain/sentences.ts";

type CountedChange = Pick<Change, "status" | "approvals" | "required_approvers"> &
  Partial<Pick<ChangeDetail, "missing">>;

/** "1 of 2 consents", for what still waits: those that count today where the service says what is missing. */
export function ConsentCount({
  change: { status, approvals, required_approvers, missing },
}: {
  change: CountedChange;
}) {
  if (status !== "pending_consent") return null;
  const { received, needed } = missing
    ? countApprovals({ required_approvers, missing })
    : { received: approvals.filter(({ emergency }) => !emergency).length, needed: required_approvers };
  return (
    <span>
      {received} of {formatCount(needed, "consent")}
    </span>
  );
}
