/** All changes, newest first: pages are read as the reader comes to them, and only the rows in sight are in the page. */
import { useEffect, useState } from "preact/hooks";
import { counted, figure } from "../core/format.ts";
import { useTitle } from "../core/hooks.tsx";
import { href } from "../core/router.tsx";
import { useDrift } from "../core/shared.ts";
import type { Listed } from "../domain/change_list.ts";
import { ChangeRow } from "../parts/change_row.tsx";
import { ConsentCount } from "../parts/consent_count.tsx";
import { Failure, Pending } from "../parts/notice.tsx";
import { PageHead } from "../parts/panel.tsx";
import { VirtualList } from "../parts/virtual_list.tsx";
import { useChanges } from "./changes/use_changes.tsx";

const NARROW = matchMedia("(max-width: 47.99rem)");
const ROW = { wide: 64, narrow: 96 };

/** The list. */
export function ChangesPage() {
  const { listed, error, fresh, loading, readMore, again } = useChanges();
  const drifted = useDrift();
  const rowHeight = useNarrow() ? ROW.narrow : ROW.wide;
  useTitle("Changes");
  return (
    <>
      <PageHead title="Changes" lead={<span role="status">{listed && leadOf(listed)}</span>}>
        <a class="button secondary" href={href(["find"])}>
          Find changes
        </a>
        <a class="button secondary" href={href(["propose"])}>
          Propose a change
        </a>
      </PageHead>
      <div aria-live="polite">
        {fresh > 0 && (
          <button type="button" class="secondary small" onClick={again}>
            {counted(fresh, "newer change", "newer changes")}: show
          </button>
        )}
      </div>
      {error !== undefined && listed && <Failure error={error} />}
      {!listed && <Pending error={error} what="changes" />}
      {listed?.changes.length === 0 && listed.next === null && (
        <p class="quiet">
          Nothing was proposed yet. <a href={href(["propose"])}>Propose a change</a>
        </p>
      )}
      {listed && (
        <VirtualList
          items={listed.changes}
          rowHeight={rowHeight}
          keyOf={({ change_id }) => change_id}
          row={(change) => (
            <ChangeRow change={change} drift={drifted.get(change.change_id)}>
              <ConsentCount change={change} />
            </ChangeRow>
          )}
          label="Changes, newest first"
          total={listed.total}
          page={listed.next}
          onEnd={readMore}
        />
      )}
      {listed && listed.next !== null && (
        <p class="more" aria-busy={loading}>
          <button type="button" class="secondary small" onClick={readMore} aria-disabled={loading}>
            {loading ? "Reading on…" : "Read on"}
          </button>
        </p>
      )}
    </>
  );
}

const leadOf = ({ changes, total, next }: Listed): string =>
  `${counted(total, "change")}, newest first${next === null ? "" : `; ${figure(changes.length)} read so far`}.`;

function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const follow = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", follow);
    return () => NARROW.removeEventListener("change", follow);
  }, []);
  return narrow;
}
