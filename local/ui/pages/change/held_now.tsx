/** The consented value of a change, and what its target holds instead. */
import { useEffect, useState } from "preact/hooks";
import { canonicalJson } from "../../../../lib/kit/canonical_json.ts";
import type { Change, ChangeDetail } from "../../core/api_types.ts";
import { pretty } from "../../core/format.ts";
import { useResource } from "../../core/resource.tsx";
import { canHash, hexOf, sha256 } from "../../core/sha256.ts";
import { readHistory } from "../../domain/change_history.ts";
import { heldIn } from "../../domain/held.ts";
import { ChangeName } from "../../parts/change_name.tsx";
import { Diff } from "../../parts/diff.tsx";
import { Asked, useHostLook } from "./host_look.tsx";

/** Shows the consented value and what the target holds now, as a diff. */
export function HeldNow({ change }: { change: ChangeDetail }) {
  const look = useHostLook(change, "rollback");
  if (look === undefined || look.adapter === null) return null;
  const held = look.seen && heldIn(look.seen.answer);
  return (
    <div class="dry-run">
      <Asked look={look} />
      {held === undefined ? (
        <ByDigest change={change} />
      ) : (
        <>
          {held === null ? (
            <p>Consented value (−). The target holds nothing now.</p>
          ) : (
            <p>Consented value (−), and what the target holds now (+):</p>
          )}
          <Diff
            label="Consented value, and what the target holds now"
            before={change.value === undefined ? undefined : pretty(change.value)}
            after={held === null ? undefined : pretty(held.value)}
          />
        </>
      )}
    </div>
  );
}

/** Names the change that set the held value, or shows its digest, for a reader who may not see the value. */
function ByDigest({ change }: { change: ChangeDetail }) {
  const { held_digest: digest } = change.drift ?? {};
  const source = useSource(change, digest ?? undefined);
  if (digest === undefined) return null;
  if (digest === null) return <p>The host product held nothing there when it was asked last.</p>;
  return (
    <p>
      {source ? (
        <>
          It held what <ChangeName of={source} /> set.
        </>
      ) : (
        <>
          The SHA-256 of what it held is <code>{digest}</code>
        </>
      )}
    </p>
  );
}

/** The change on the target whose value has a digest. */
function useSource(change: ChangeDetail, digest: string | undefined): Change | undefined {
  const { data: history } = useResource(`history ${change.change_id}`, (signal) => readHistory(change, signal));
  const [source, setSource] = useState<Change | undefined>();
  useEffect(() => {
    let gone = false;
    const find = async () => {
      for (const one of history ?? [])
        if (one.value !== undefined && hexOf(await sha256(canonicalJson(one.value))) === digest) return one;
      return undefined;
    };
    if (digest !== undefined && canHash()) void find().then((found) => gone || setSource(found));
    return () => void (gone = true);
  }, [history, digest]);
  return source;
}
