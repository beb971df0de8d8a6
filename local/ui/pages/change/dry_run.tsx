/** Asks what an apply or a rollback would do, and shows it before anything is touched. */
import type { ChangeDetail, Operation } from "../../core/api_types.ts";
import { lazy } from "../../core/lazy.tsx";
import { listResults } from "../../domain/plan.ts";
import { Failure, Notice } from "../../parts/notice.tsx";
import { Sides } from "./sides.tsx";
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
