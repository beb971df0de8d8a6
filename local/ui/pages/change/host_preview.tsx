/** The current value of a target, and what a change sets there or restores. */
import type { ComponentChildren } from "preact";
import { canonicalJson } from "../../../../lib/kit/canonical_json.ts";
import type { Change, ChangeDetail, Operation } from "../../core/api_types.ts";
import { lazy } from "../../core/lazy.tsx";
import { readHostValue, type TargetValue, listResults } from "../../domain/plan.ts";
import { isPatch } from "../../domain/text_diff.ts";
import { ChangeName } from "../../parts/change_name.tsx";
import { ValueDiff } from "../../parts/diff.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Json } from "../../parts/text.tsx";
import { DryRunStatus, type HostOperation, useDryRun } from "./use_dry_run.tsx";
import { useSetter } from "./use_setter.tsx";

const PlanDryRun = lazy(() => import("./plan.tsx").then((part) => part.PlanDryRun));
const RollbackPreview = lazy(() => import("./rollback_preview.tsx").then((part) => part.RollbackPreview));

/** The dry run of a change; `before`: the value set last by the service; `children`: shown unless the dry run reports a value. */
export function HostPreview(props: {
  change: ChangeDetail;
  operation?: HostOperation;
  onToken?: () => void;
  before?: TargetValue;
  children?: ComponentChildren;
}) {
  const { change, operation = "apply", onToken, before, children } = props;
  const dryRun = useDryRun(change, operation, onToken);
  if (dryRun === undefined) return <>{children}</>;
  const { result, adapter } = dryRun;
  const answer = result?.answer;
  const isPlan = answer !== undefined && listResults(answer.adapter).length > 0;
  return (
    <>
      {/* With `onToken` the intent may not be read yet: the dry run's answer shows whether there is an adapter. */}
      {answer?.adapter === null || (adapter === null && !onToken) ? (
        <Notice tone="quiet">
          This service has no adapter: {operation === "apply" ? "an apply" : "a rollback"} is only recorded, and no
          value is set anywhere.
        </Notice>
      ) : (
        <div class="dry-run" aria-live="polite">
          <DryRunStatus of={dryRun} />
          {isPlan && <PlanDryRun answer={answer} operation={operation} />}
          {answer && !change.sets && operation === "rollback" && <RollbackPreview change={change} answer={answer} />}
          {answer && !change.sets && operation === "apply" && <ApplyPreview answer={answer} before={before} />}
        </div>
      )}
      {(!answer || readHostValue(answer) === undefined) && children}
    </>
  );
}

const isSame = (a: TargetValue, b: TargetValue): boolean =>
  !!a && !!b && canonicalJson(a.value) === canonicalJson(b.value);

/** The value that an apply replaces, and the new one. */
function ApplyPreview({ answer, before }: { answer: Operation; before: TargetValue }) {
  const { change, adapter } = answer;
  const current = readHostValue(answer);
  const after = change.value === undefined ? undefined : { value: change.value };
  return (
    <>
      <p>
        {current === null ? (
          "The host product has no value there now."
        ) : isSame(current, after) ? (
          <>
            The host product <strong>holds this already</strong>.
          </>
        ) : current ? (
          <>
            Against what <strong>the host product holds now</strong>:
          </>
        ) : (
          <>
            The {adapter!.name} adapter finds it <strong>{adapter!.result}</strong>.
          </>
        )}
      </p>
      {current !== undefined && after && !isPatch(after.value) && (
        <ValueDiff label="What the host product holds, and would hold" before={current} after={after} />
      )}
      {current === undefined && adapter?.preview != null && <Json label="Preview" of={adapter.preview} />}
      {before && current !== undefined && !isSame(current, before) && (
        <Notice tone="warn">
          <p>This differs from the value that this service set last: it was changed elsewhere.</p>
        </Notice>
      )}
    </>
  );
}

/** Shows the consented value of a change and what its target holds instead. */
export function CurrentValue({ change }: { change: ChangeDetail }) {
  const dryRun = useDryRun(change, "rollback");
  if (dryRun === undefined || dryRun.adapter === null) return null;
  const current = dryRun.result && readHostValue(dryRun.result.answer);
  return (
    <div class="dry-run">
      <DryRunStatus of={dryRun} />
      {current === undefined ? (
        <CurrentValueByDigest change={change} digest={change.drift?.held_digest} />
      ) : (
        <>
          <p>
            Consented value (−)
            {current === null ? ". The target holds nothing now." : ", and what the target holds now (+):"}
          </p>
          <ValueDiff label="Consented value, and what the target holds now" before={change} after={current} />
        </>
      )}
    </div>
  );
}

/** Names the change that set the current value, or shows its digest, to a reader who may not see the value. */
function CurrentValueByDigest({ change, digest }: { change: ChangeDetail; digest: string | null | undefined }) {
  const setter: Change | undefined = useSetter(change, digest ?? undefined)?.by;
  if (digest === undefined) return null;
  if (digest === null) return <p>The host product had no value there when it was asked last.</p>;
  return setter ? (
    <p>
      It had the value that <ChangeName of={setter} /> set.
    </p>
  ) : (
    <p>
      The SHA-256 of its value was <code>{digest}</code>
    </p>
  );
}
