import type { Change, ChangeDetail } from "../core/api_types.ts";
import { formatCount } from "../core/format.ts";
import { countApprovals } from "../domain/sentences.ts";

type CountedChange = Pick<Change, "status" | "approvals" | "required_approvers"> &
  Partial<Pick<ChangeDetail, "missing">>;

/** "1 of 2 consents" of a pending change; only approvals that count under the intent in force, if the service lists what is missing. */
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
