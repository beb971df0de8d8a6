import type { ChangeDetail } from "../../core/api_types.ts";
import { href } from "../../core/router.tsx";
import { listFollowUps } from "../../domain/follow_ups.ts";

/** Links to proposals that start from the change, filled with what they begin with. */
export const FollowUpLinks = ({ change }: { change: ChangeDetail }) => (
  <>
    {listFollowUps(change).map(({ label, take, by = "supersedes" }) => (
      <a key={label} class="button secondary" href={href(["propose"], { [by]: change.change_id, take })}>
        {label}…
      </a>
    ))}
  </>
);
