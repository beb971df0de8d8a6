import type { Change } from "../core/api_types.ts";
import { useUnopened } from "../domain/plan.ts";
import { Given } from "./text.tsx";

/** Says which differences of a plan the reader has not opened. */
export function Unopened({ change }: { change: Change }) {
  const left = useUnopened(change);
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
          : <Given text={left.map(({ target }) => target).join(", ")} />.
        </>
      )}
    </p>
  );
}
