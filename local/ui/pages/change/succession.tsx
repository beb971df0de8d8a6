/** The changes that a change supersedes, and those that supersede it. */
import { Button } from "../../parts/button.tsx";
import { isOpenChange } from "../../../../lib/changes/rules/current_state.ts";
import type { ChangeDetail, RelatedChange } from "../../core/api_types.ts";
import { listRelated, isSupersededButOpen } from "../../domain/follow_ups.ts";
import { ChangeBadge, ChangeName } from "../../parts/change_name.tsx";
import { Notice } from "../../parts/notice.tsx";

/** Earlier and later changes; `onWithdraw` where the change may be withdrawn. */
export function Succession({ change, onWithdraw }: { change: ChangeDetail; onWithdraw: (() => void) | undefined }) {
  const [before] = listRelated(change, "supersedes");
  const after = listRelated(change, "superseded_by");
  const [holder] = listRelated(change, "holds");
  const isReplaced = change.status === "applied" && holder !== undefined && !after.includes(holder);
  return (
    <>
      {before && (
        <p>
          Proposed in place of <ChangeName of={before} />. <ChangeBadge of={before} />
        </p>
      )}
      {after.map((later) => (
        <p key={later.change_id}>
          {describeSuccession(later)} <ChangeName of={later} />. <ChangeBadge of={later} />
        </p>
      ))}
      {isReplaced && (
        <p>
          Its target now has the value that <ChangeName of={holder} /> set.
        </p>
      )}
      {isSupersededButOpen(change) && (
        <Notice tone="warn">
          <p>
            <strong>This change is still open</strong>, and can be decided as before.{" "}
            {onWithdraw ? (
              <Button class="link" onClick={onWithdraw} label="Withdraw it…" />
            ) : change.status === "approved" ? (
              "Its approvers may take their consent back."
            ) : (
              "Its proposer may withdraw it."
            )}
          </p>
        </Notice>
      )}
    </>
  );
}

const describeSuccession = ({ status }: RelatedChange): string =>
  status === "applied" ? "Superseded by" : isOpenChange(status) ? "To be superseded by" : "Was to be superseded by";
