/** The host product no longer shows what was applied: what was consented to beside what it holds, and the ways out. */
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
import { Panel } from "../../parts/panel.tsx";
import { Given } from "../../parts/text.tsx";
import { Age } from "../../parts/time.tsx";
import { Asked, useHostLook } from "./host_look.tsx";
import { Ways } from "./ways.tsx";

/** The panel of a change that drifted. */
export function Drifted({ change }: { change: ChangeDetail }) {
  const { drift, target } = change;
  return (
    <Panel title="What does the host product hold instead?" class="drifted">
      <p>
        It was applied, and the host product{" "}
        {drift!.state === "missing" ? "shows nothing of it any more" : "no longer shows it"}; noticed{" "}
        <Age at={drift!.since} />. Nobody consented to what <Given text={target} code /> holds now.
      </p>
      <Beside change={change} />
      <div class="buttons">
        <Ways change={change} />
      </div>
      <p class="quiet">Either is a new proposal that takes the place of this one, and is decided as any other.</p>
    </Panel>
  );
}

function Beside({ change }: { change: ChangeDetail }) {
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
            <p>The host product holds nothing there now.</p>
          ) : (
            <p>What was consented to (−), and what the host product holds now (+):</p>
          )}
          <Diff
            label="What was consented to, and what the host product holds"
            before={change.value === undefined ? undefined : pretty(change.value)}
            after={held === null ? undefined : pretty(held.value)}
          />
        </>
      )}
    </div>
  );
}

/** Where the value itself is not to be had: whose it is, if a change on record set it. */
function ByDigest({ change }: { change: ChangeDetail }) {
  const { held_digest: digest } = change.drift!;
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
