/** Asks what an apply or a rollback would do, and shows it before anything is touched. */
import { useEffect, useState } from "preact/hooks";
import type { ChangeDetail, Operation } from "../../core/api_types.ts";
import { post, Refused } from "../../core/api.ts";
import { pretty } from "../../core/format.ts";
import { lazy } from "../../core/lazy.tsx";
import { Diff } from "../../parts/diff.tsx";
import { Failure, Notice } from "../../parts/notice.tsx";
import { Given, Json } from "../../parts/text.tsx";

const Undoing = lazy(() => import("./undoing.tsx").then((part) => part.Undoing));

/** What an adapter that shows both sides answers. */
interface BeforeAfter {
  before?: unknown;
  after?: unknown;
  present_before?: boolean;
}

const isBeforeAfter = (given: unknown): given is BeforeAfter =>
  typeof given === "object" && given !== null && "before" in given && "after" in given;

/** The rehearsal; `auto` asks at once. */
export function DryRun({
  change,
  operation = "apply",
  auto = false,
  onToken,
}: {
  change: ChangeDetail;
  operation?: "apply" | "rollback";
  auto?: boolean;
  onToken?: () => void;
}) {
  const [answer, setAnswer] = useState<Operation | undefined>();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(auto);
  const ask = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const fields = { change_id: change.change_id, dry_run: "true" };
      setAnswer(await post<Operation>(`api/product/${operation}`, fields, { revision: change.revision }));
    } catch (failure) {
      setError(failure);
      if (failure instanceof Refused && failure.refusal.code === "unauthorized") onToken?.();
    }
    setBusy(false);
  };
  useEffect(() => {
    if (auto) void ask();
  }, []);
  return (
    <div class="dry-run" aria-live="polite">
      {answer && (operation === "apply" ? <Rehearsed answer={answer} /> : <Undoing change={change} answer={answer} />)}
      <Failure error={error} />
      {busy ? (
        <p class="quiet" aria-busy="true">
          Asking what would happen…
        </p>
      ) : (
        !answer && (
          <button type="button" class="secondary small" onClick={() => void ask()}>
            {error === undefined ? "Dry run: ask the host product" : "Dry run again"}
          </button>
        )
      )}
    </div>
  );
}

function Rehearsed({ answer: { adapter, change } }: { answer: Operation }) {
  if (adapter === null)
    return (
      <Notice tone="quiet">
        This service has no adapter: an apply is recorded, and nothing is carried to a host product.
      </Notice>
    );
  const { preview } = adapter;
  return (
    <>
      <p>
        Dry run: the {adapter.name} adapter finds it <strong>{adapter.result}</strong>. Nothing was changed.
        {isBeforeAfter(preview) && preview.present_before === false && " The host product holds nothing there now."}
      </p>
      {isBeforeAfter(preview) ? (
        <Diff
          label="What the host product holds, and would hold"
          before={preview.present_before === false ? undefined : pretty(preview.before)}
          after={change.value === undefined && preview.present_before === false ? undefined : pretty(preview.after)}
        />
      ) : (
        preview !== null && preview !== undefined && <Json label="Preview" of={preview} />
      )}
      {change.value === undefined && (
        <p class="quiet">
          The change carries no value: <Given text={change.target} code /> keeps what it holds.
        </p>
      )}
    </>
  );
}
