/** The effect of a rollback: the value that the target would have again, or its current owner. */
import type { ChangeDetail, Operation } from "../../core/api_types.ts";
import { changeHref } from "../../core/router.tsx";
import { ChangeName } from "../../parts/change_name.tsx";
import { ValueDiff } from "../../parts/diff.tsx";
import { UserText } from "../../parts/text.tsx";
import { useSetter } from "../../domain/change_history.ts";

/** State of the target: its owner, and the digest of its earlier value (`null`: nothing). */
interface RollbackTarget {
  target_owner: string | null;
  /** The change that held it before, where that was rolled back since. */
  passes?: string;
  previous_digest?: string | null;
}

const HOST_STATES: Readonly<Record<string, string>> = {
  applied: "The host product shows this change now.",
  rolled_back: "The host product shows it as rolled back already.",
  absent: "The host product does not show this change now.",
  unknown: "The host product holds something else now.",
  silent: "The host product cannot be asked what it shows now.",
};

/** The result of the dry run of a rollback. */
export function RollbackPreview({ change, answer }: { change: ChangeDetail; answer: Operation }) {
  const adapter = answer.adapter!;
  const { target_owner: owner, passes, previous_digest } = adapter.preview as RollbackTarget;
  const target = <UserText text={change.target} code />;
  if (adapter.result === "superseded")
    return (
      <p>
        Dry run: <strong>only the record of this change is taken back</strong>. {target}{" "}
        {owner === null ? (
          "is not this change's any more"
        ) : (
          <>
            is now what <a href={changeHref(owner)}>a later change</a> made it
          </>
        )}
        , and stays as it is.
      </p>
    );
  return (
    <>
      <p>
        Dry run: the target <strong>goes back to what it held before</strong>. {HOST_STATES[adapter.host ?? "silent"]}
      </p>
      {change.value === undefined ? (
        <p class="quiet">No value was set. Rolling back won't change {target}.</p>
      ) : passes !== undefined ? (
        <p>
          <a href={changeHref(passes)}>The change that held it before</a> was rolled back meanwhile, so that what was
          there before that one comes back.
        </p>
      ) : previous_digest === undefined ? (
        <p>What that was is not on record: the adapter did not say it at the apply.</p>
      ) : previous_digest === null ? (
        <>
          <p>{target} held nothing before.</p>
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
        Looking for what that was…
      </p>
    );
  const target = <UserText text={change.target} code />;
  if (setter.by === undefined)
    return (
      <p>
        {target} held a value that this page does not have; its SHA-256 is <code>{digest}</code>.
      </p>
    );
  return (
    <>
      <p>
        {target} held what <ChangeName of={setter.by} /> set.
      </p>
      <ValueDiff label="What the change set, and what comes back" before={change} after={setter.by} />
    </>
  );
}
