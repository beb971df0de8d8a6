/** All changes: filters in the address, pages read as the reader comes to them, only the rows in sight in the page. */
import { useEffect, useState } from "preact/hooks";
import type { Change } from "../core/api_types.ts";
import { counted, figure, signed } from "../core/format.ts";
import { useTitle } from "../core/hooks.tsx";
import { changeHref, href, refine, type Route } from "../core/router.tsx";
import { useDrift } from "../core/shared.ts";
import { type Filter, filterOf, FILTERS, isSearch, type Listed } from "../domain/change_list.ts";
import { shortly } from "../domain/sentences.ts";
import { statusMark } from "../domain/statuses.ts";
import { ConsentCount } from "../parts/consent_count.tsx";
import { Mark } from "../parts/mark.tsx";
import { Failure, Pending } from "../parts/notice.tsx";
import { PageHead } from "../parts/panel.tsx";
import { Given, Sentence } from "../parts/text.tsx";
import { Age } from "../parts/time.tsx";
import { VirtualList } from "../parts/virtual_list.tsx";
import { Filters } from "./changes/filters.tsx";
import { useChanges } from "./changes/use_changes.tsx";

const NARROW = matchMedia("(max-width: 47.99rem)");
const ROW = { wide: 64, narrow: 96 };

/** The list. */
export function ChangesPage({ route: { query } }: { route: Route }) {
  const filter = filterOf(query);
  const { listed, error, fresh, loading, readMore, again } = useChanges(filter);
  const drifted = useDrift();
  const rowHeight = useNarrow() ? ROW.narrow : ROW.wide;
  useTitle("Changes");
  const isNarrowed = FILTERS.some((name) => filter[name] !== "");
  return (
    <>
      <PageHead title="Changes" lead={<span role="status">{listed && leadOf(listed, filter)}</span>}>
        <a class="button secondary" href={href(["propose"])}>
          Propose a change
        </a>
      </PageHead>
      <Filters filter={filter} onFilter={(more) => refine(["changes"], { ...filter, ...more })} />
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
          {isNarrowed ? (
            <>
              No change fits. Words are looked for in titles, reasons and targets.{" "}
              <a href={href(["changes"])}>Show all</a>
            </>
          ) : (
            <>
              Nothing was proposed yet. <a href={href(["propose"])}>Propose a change</a>
            </>
          )}
        </p>
      )}
      {listed && (
        <VirtualList
          items={listed.changes}
          rowHeight={rowHeight}
          keyOf={({ change_id }) => change_id}
          row={(change) => <Row change={change} drift={drifted.get(change.change_id)} />}
          label="Changes, newest first"
          total={countsAll(filter) ? listed.total : listed.changes.length}
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

/** Whether the service counts all that fit: where nothing but a tenant is given it does not. */
const countsAll = (filter: Filter): boolean => isSearch(filter) || filter.tenant_id === "";

function leadOf({ changes, total, next }: Listed, filter: Filter): string {
  const read = next === null ? "" : `; ${figure(changes.length)} read so far`;
  if (!countsAll(filter)) return `${counted(changes.length, "change")} of this tenant${read}.`;
  if (isSearch(filter)) return `${counted(total, "change fits", "changes fit")}, newest first${read}.`;
  return `${counted(total, "change")}${filter.status === "" ? "" : " of this status"}, newest first${read}.`;
}

const Row = ({ change, drift }: { change: Change; drift: unknown }) => (
  <article class="change-row">
    <Mark of={statusMark({ ...change, drift })} />
    <div class="change-name">
      <a data-row href={changeHref(change.change_id)}>
        <Given text={change.summary || change.change_id} />
      </a>
      <p class="quiet">
        <Sentence parts={shortly(change)} />
      </p>
    </div>
    <span class="quiet reach">
      {change.affected_users === null ? "reach not stated" : `${figure(change.affected_users)} affected`}
    </span>
    <span class="quiet gain">
      {change.expected_delta_k === null ? "" : `expects ${signed(change.expected_delta_k)}`}
    </span>
    <span class="quiet when">
      <ConsentCount change={change} />
      <Age at={change.created_at} />
    </span>
  </article>
);

function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const follow = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", follow);
    return () => NARROW.removeEventListener("change", follow);
  }, []);
  return narrow;
}
