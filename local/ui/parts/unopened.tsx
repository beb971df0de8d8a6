import type { Change } from "../core/api_types.ts";
import { useUnopenedEntries } from "../domain/plan.ts";
import { UserText } from "./text.tsx";

/** Names the differences of a plan that the reader has not opened. */
export function UnopenedEntries({ change }: { change: Change }) {
  const left = useUnopenedEntries(change);
  if (!change.sets) return null;
  return (
    <p class="whole" role="status">
      {left.length === 0 ? (
        `All ${change.sets.length} differences opened.`
      ) : (
        <>
          <strong>
            {left.length} of {change.sets.length} not opened
          </strong>
          : <UserText text={left.map(({ target }) => target).join(", ")} />.
        </>
      )}
    </p>
  );
}
