/** Asks what an apply or a rollback would do, and shows it before anything is touched. */
import type { ChangeDetail, Operation } from "../../core/api_types.ts";
import { pretty } from "../../core/format.ts";
import { lazy } from "../../core/lazy.tsx";
import { listResults } from "../../domain/plan.ts";
import { sidesOf } from "../../domain/held.ts";
import { isPatch } from "../../domain/text_diff.ts";
import { Diff } from "../../parts/diff.tsx";
import { Failure, Notice } from "../../parts/notice.tsx";
import { Json } from "../../parts/text.tsx";
import { useRehearsal } from "./use_rehearsal.tsx";

const PlanDryRun = lazy(() => import("./plan.tsx").then((part) => part.PlanDryRun));
const Undoing = lazy(() => import("./undoing.tsx").then((part) => part.Undoing));

/** The rehearsal in the dialog of an operation. */
export function DryRun({
  change,
  operation,
  onToken,
}: {
  change: ChangeDetail;
  operation: "apply" | "rollback";
  onToken: () => void;
}) {
  const { seen, error, busy, ask } = useRehearsal(change, operation, { auto: true, onToken });
  return (
    <div class="dry-run" aria-live="polite">
      {seen && listResults(seen.answer.adapter).length > 0 && <PlanDryRun answer={seen.answer} operation={operation} />}
      {seen &&
        !change.sets &&
        (operation === "apply" ? <Rehearsed answer={seen.answer} /> : <Undoing change={change} answer={seen.answer} />)}
      <Failure error={error} />
      {busy ? (
        <p class="quiet" aria-busy="true">
          Asking what would happen…
        </p>
      ) : (
        !seen && (
          <button type="button" class="secondary small" onClick={ask}>
            Dry run again
          </button>
        )
      )}
    </div>
  );
}

function Rehearsed({ answer }: { answer: Operation }) {
  const { adapter } = answer;
  if (adapter === null)
    return (
      <Notice tone="quiet">
        This service has no adapter: an apply is recorded, and nothing is carried to a host product.
      </Notice>
    );
  return (
    <>
      <p>
        Dry run: the {adapter.name} adapter finds it <strong>{adapter.result}</strong>. Nothing was changed.
      </p>
      <Sides answer={answer} />
    </>
  );
}

/** What the host product holds, beside what it would hold. */
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
