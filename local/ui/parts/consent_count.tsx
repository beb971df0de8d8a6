import type { Change } from "../core/api_types.ts";

/** "1 of 2 consents", for what still waits. */
export const ConsentCount = ({ change }: { change: Pick<Change, "status" | "approvals" | "required_approvers"> }) =>
  change.status === "pending_consent" ? (
    <span>
      {change.approvals.filter(({ emergency }) => !emergency).length} of {change.required_approvers}{" "}
      {change.required_approvers === 1 ? "consent" : "consents"}
    </span>
  ) : null;
