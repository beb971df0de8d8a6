/** The effect of a rollback: the value that the target would have again, or its current owner. */
import type { ChangeDetail, Operation } from "../../core/api_types.ts";
import { changeHref } from "../../core/router.tsx";
import { ChangeName } from "../../parts/change_name.tsx";
import { ValueDiff } from "../../parts/diff.tsx";
import { UserText } from "../../parts/text.tsx";
import { useSetter } from "./use_setter.tsx";

/** State of the target: the change whose value it has, and the digest of its earlier value (`null`: none). */
interface RollbackTarget {
  target_owner: string | null;
  /** The change that set the target before, if that change was rolled back since. */
  passes?: string;
  previous_digest?: string | null;
}

const HOST_STATES: Readonly<Record<string, string>> = {
  applied: "The host product has this change's value now.",
  rolled_back: "The host product reports it as rolled back already.",
  absent: "The host product does not have this change now.",
  unknown: "The host product has another value now.",
  silent: "The host product cannot be asked for its current value.",
};

export function RollbackPreview({ change, answer }: { change: ChangeDetail; answer: Operation }) {
  const adapter = answer.adapter!;
  const { target_owner: owner, passes, previous_digest } = adapter.preview as RollbackTarget;
  const target = <UserText text={change.target} code />;
  if (adapter.result === "superseded")
    return (
      <p>
        Dry run: <strong>only the record of this change is rolled back</strong>. {target}{" "}
        {owner === null ? (
          "no longer has this change's value"
        ) : (
          <>
            was set by <a href={changeHref(owner)}>a later change</a>
          </>
        )}
        , and stays as it is.
      </p>
    );
  return (
    <>
      <p>
        Dry run: the target <strong>goes back to its earlier value</strong>. {HOST_STATES[adapter.host ?? "silent"]}
      </p>
      {change.value === undefined ? (
        <p class="quiet">No value was set. Rolling back won't change {target}.</p>
      ) : passes !== undefined ? (
        <p>
          <a href={changeHref(passes)}>The change before</a> was rolled back meanwhile, so the value before both comes
          back.
        </p>
      ) : previous_digest === undefined ? (
        <p>The earlier value is not on record: the adapter did not report it at the apply.</p>
      ) : previous_digest === null ? (
        <>
          <p>{target} had no value before.</p>
          <ValueDiff label="What the change set, and what comes back" before={change} after={null} />
        </>
      ) : (
        <Restored change={change} digest={previous_digest} />
      )}
    </>
  );
}

/** The restored value, if a known change set it; only its digest is recorded. */
function Restored({ change, digest }: { change: ChangeDetail; digest: string }) {
  const setter = useSetter(change, digest);
  if (setter === undefined)
    return (
      <p class="quiet" aria-busy="true">
        Looking for the earlier value…
      </p>
    );
  const target = <UserText text={change.target} code />;
  if (setter.by === undefined)
    return (
      <p>
        {target} had a value that this page cannot show; its SHA-256 is <code>{digest}</code>.
      </p>
    );
  return (
    <>
      <p>
        {target} had the value that <ChangeName of={setter.by} /> set.
      </p>
      <ValueDiff label="What the change set, and what comes back" before={change} after={setter.by} />
    </>
  );
}
