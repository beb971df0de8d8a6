/** What a rollback would do: what the target would hold again, or whose it is now. */
import { useEffect, useState } from "preact/hooks";
import { canonicalJson } from "../../../../lib/kit/canonical_json.ts";
import type { ChangeDetail, Operation } from "../../core/api_types.ts";
import { pretty } from "../../core/format.ts";
import { useResource } from "../../core/resource.tsx";
import { changeHref } from "../../core/router.tsx";
import { canHash, hexOf, sha256 } from "../../core/sha256.ts";
import { readHistory, findReplaced } from "../../domain/change_history.ts";
import { Diff } from "../../parts/diff.tsx";
import { Notice } from "../../parts/notice.tsx";
import { Given } from "../../parts/text.tsx";

/** What the service says of the target: its owner, and the digest of what it held before (`null`: nothing). */
interface Place {
  target_owner: string | null;
  /** The change that held it before, where that was rolled back since. */
  passes?: string;
  previous_digest?: string | null;
}

/** The rehearsal of a rollback. */
export function Undoing({ change, answer: { adapter } }: { change: ChangeDetail; answer: Operation }) {
  if (adapter === null)
    return (
      <Notice tone="quiet">
        This service has no adapter: a rollback is recorded, and nothing is carried to a host product.
      </Notice>
    );
  const { target_owner, passes, previous_digest } = adapter.preview as Place;
  if (adapter.result === "superseded") return <Superseded change={change} owner={target_owner} />;
  return (
    <>
      <p>
        Dry run: the target <strong>goes back to what it held before</strong>. Nothing was changed.{" "}
        {HOST[adapter.host ?? "silent"]}
      </p>
      {change.value === undefined ? (
        <p class="quiet">
          No value was set. Rolling back won't change <Given text={change.target} code />.
        </p>
      ) : passes !== undefined ? (
        <p>
          <a href={changeHref(passes)}>The change that held it before</a> was rolled back meanwhile, so that what was
          there before that one comes back.
        </p>
      ) : previous_digest === undefined ? (
        <p>What that was is not on record: the adapter did not say it at the apply.</p>
      ) : (
        <Restored change={change} digest={previous_digest} />
      )}
    </>
  );
}

const HOST: Readonly<Record<NonNullable<NonNullable<Operation["adapter"]>["host"]> | "silent", string>> = {
  applied: "The host product shows this change now.",
  rolled_back: "The host product shows it as rolled back already.",
  absent: "The host product does not show this change now.",
  unknown: "The host product holds something else now.",
  silent: "The host product cannot be asked what it shows now.",
};

const Superseded = ({ change: { target }, owner }: { change: ChangeDetail; owner: string | null }) => (
  <p>
    Dry run: <strong>only the record of this change is taken back</strong>. <Given text={target} code />{" "}
    {owner === null ? (
      "is not this change's any more"
    ) : (
      <>
        is now what <a href={changeHref(owner)}>a later change</a> made it
      </>
    )}
    , and stays as it is. Nothing was changed.
  </p>
);

/** What comes back, where a change that this service knows set it: its value is taken by its digest, and by nothing less. */
function Restored({ change, digest }: { change: ChangeDetail; digest: string | null }) {
  const before = useProven(change, digest);
  const target = <Given text={change.target} code />;
  if (before === "looking")
    return (
      <p class="quiet" aria-busy="true">
        Looking for what that was…
      </p>
    );
  if (before === undefined)
    return (
      <p>
        {target} held a value that this page does not have; its SHA-256 is <code>{digest}</code>.
      </p>
    );
  return (
    <>
      <p>
        {before === null ? (
          <>{target} held nothing before.</>
        ) : (
          <>
            {target} held what <a href={changeHref(before.by)}>the change before it</a> set.
          </>
        )}
      </p>
      <Diff
        label="What the change set, and what comes back"
        before={pretty(change.value)}
        after={before === null ? undefined : pretty(before.value)}
      />
    </>
  );
}

type Before = NonNullable<ReturnType<typeof findReplaced>>;

/** What the change before set, if that is what has the digest; `null`: nothing was there. */
function useProven(change: ChangeDetail, digest: string | null): Before | null | undefined | "looking" {
  const { data: history, error } = useResource(`history ${change.change_id}`, (signal) => readHistory(change, signal));
  const [proven, setProven] = useState<Before | undefined | "looking">("looking");
  useEffect(() => {
    let gone = false;
    const prove = async (before: Before | undefined) => {
      const fits = before && canHash() && hexOf(await sha256(canonicalJson(before.value))) === digest;
      if (!gone) setProven(fits ? before : undefined);
    };
    if (history) void prove(findReplaced(change, history));
    return () => void (gone = true);
  }, [history]);
  if (digest === null) return null;
  return history === undefined && error !== undefined ? undefined : proven;
}
