/** Notices under an open dialog that its change is another one by now. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ChangeDetail } from "../../core/api_types.ts";
import { get, Refused } from "../../core/api.ts";
import { useNow } from "../../core/hooks.tsx";
import { onNews } from "../../core/live.ts";
import { standingOf } from "../../domain/sentences.ts";
import { Notice } from "../../parts/notice.tsx";
import { Given, Sentence } from "../../parts/text.tsx";

/** The change as it is now, once it is no longer what the dialog shows; `maybeOwn`: what moved it may be one's own doing. */
export function useChangedSince(change: ChangeDetail) {
  const [now, setNow] = useState<ChangeDetail | undefined>();
  const maybeOwn = useRef(false);
  const look = async () => {
    const path = `api/product/changes/${encodeURIComponent(change.change_id)}`;
    const found = await get<ChangeDetail>(path).catch(() => undefined);
    if (found && found.revision !== change.revision && !maybeOwn.current) setNow(found);
  };
  useEffect(
    () =>
      onNews((news) => {
        if (maybeOwn.current) return;
        if (news === null || (news.type === "audit" && news.data.change_id === change.change_id)) void look();
      }),
    [],
  );
  return { now, look, maybeOwn };
}

/** Says so, and why the decision was refused if it was. */
export function ChangedSince({ now, error }: { now: ChangeDetail; error: unknown }) {
  const time = useNow();
  return (
    <Notice tone="warn" alert>
      <p>
        <strong>Changed since you opened it.</strong> Nothing of yours was recorded.{" "}
        <Sentence parts={standingOf(now, time)} />
      </p>
      {error instanceof Refused && (
        <p class="quiet">
          <Given text={error.message} />
        </p>
      )}
    </Notice>
  );
}
