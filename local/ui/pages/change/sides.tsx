import type { Operation } from "../../core/api_types.ts";
import { pretty } from "../../core/format.ts";
import { sidesOf } from "../../domain/held.ts";
import { isPatch } from "../../domain/text_diff.ts";
import { Diff } from "../../parts/diff.tsx";
import { Json } from "../../parts/text.tsx";

/** Shows the value that the host product holds, and the one that it would hold. */
export function Sides({ answer }: { answer: Operation }) {
  const { adapter, change } = answer;
  const sides = sidesOf(answer, change);
  const preview = adapter?.preview;
  return (
    <>
      {sides?.before === null && <p>The host product holds nothing there now.</p>}
      {sides && change.value !== undefined && !isPatch(change.value) && (
        <Diff
          label="What the host product holds, and would hold"
          before={sides.before === null ? undefined : pretty(sides.before.value)}
          after={sides.after === null ? undefined : pretty(sides.after.value)}
        />
      )}
      {!sides && preview !== null && preview !== undefined && <Json label="Preview" of={preview} />}
    </>
  );
}
