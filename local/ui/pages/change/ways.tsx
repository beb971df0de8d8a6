import type { ChangeDetail } from "../../core/api_types.ts";
import { href } from "../../core/router.tsx";
import { waysOn } from "../../domain/again.ts";

/** Links to a proposal in the change's place, filled with what it begins with. */
export const Ways = ({ change }: { change: ChangeDetail }) => (
  <>
    {waysOn(change).map(({ label, take }) => (
      <a key={label} class="button secondary" href={href(["propose"], { supersedes: change.change_id, take })}>
        {label}…
      </a>
    ))}
  </>
);
