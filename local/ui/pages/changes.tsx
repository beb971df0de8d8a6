/** All changes: filters in the address, pages read as the reader comes to them, only the rows in sight in the page. */
import { useEffect, useState } from "preact/hooks";
import type { Change } from "../core/api_types.ts";
import { counted, figure, signed } from "../core/format.ts";
import { useTitle } from "../core/hooks.tsx";
import { changeHref, href, refine, type Route } from "../core/router.tsx";
import { type Filter, holds, type Listed } from "../domain/change_list.ts";
import { shortly } from "../domain/sentences.ts";
import { markOf, STATUS_NAMES, statusMark } from "../domain/statuses.ts";
import { ConsentCount } from "../parts/change_row.tsx";
import { Choice, Line } from "../parts/field.tsx";
import { Mark } from "../parts/mark.tsx";
import { Failure, Pending } from "../parts/notice.tsx";
import { PageHead } from "../parts/panel.tsx";
import { Given, Sentence } from "../parts/text.tsx";
import { Age } from "../parts/time.tsx";
import { VirtualList } from "../parts/virtual_list.tsx";
import { useChanges } from "./changes/use_changes.tsx";

const NARROW = matchMedia("(max-width: 47.99rem)");
const ROW = { wide: 64, narrow: 96 };

/** So many changes are looked through for words by themselves; then the reader has to ask for more. */
const SEARCHED = 20_000;

/** The list. */
export function ChangesPage({ route: { query } }: { route: Route }) {
  const filter: Filter = { status: query.get("status") ?? "", tenant_id: query.get("tenant_id") ?? "" };
  const text = query.get("q") ?? "";
  const { listed, error, fresh, loading, readMore, again } = useChanges(filter);
  const rowHeight = useNarrow() ? ROW.narrow : ROW.wide;
  useTitle("Changes");
  const set = (more: Record<string, string>) => refine(["changes"], { ...filter, q: text, ...more });
  const rows = (listed?.changes ?? []).filter((change) => holds(change, text));
  return (
    <>
      <PageHead title="Changes" lead={listed && leadOf(listed, rows.length, filter, text)}>
        <a role="button" class="secondary" href={href(["propose"])}>
          Propose a change
        </a>
      </PageHead>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <Choice
          label="Status"
          value={filter.status}
          onValue={(status) => set({ status })}
          options={[
            ["", "Any"],
            ...STATUS_NAMES.filter((one) => one !== "proposed").map((one) => [one, markOf(one).word] as const),
          ]}
        />
        <Line
          label="Tenant"
          type="search"
          value={filter.tenant_id}
          onValue={(tenant_id) => set({ tenant_id })}
          placeholder="exactly"
        />
        <Line
          label="Words"
          type="search"
          value={text}
          onValue={(q) => set({ q })}
          placeholder="target, summary, name, id"
        />
      </form>
      <div aria-live="polite">
        {fresh > 0 && (
          <button type="button" class="secondary small" onClick={again}>
            {counted(fresh, "newer change", "newer changes")}: show
          </button>
        )}
      </div>
      {error !== undefined && listed && <Failure error={error} />}
      {!listed && <Pending error={error} what="changes" />}
      {listed && rows.length === 0 && listed.next === null && (
        <p class="quiet">
          {filter.status || filter.tenant_id || text ? (
            <>
              No change fits. <a href={href(["changes"])}>Show all</a>
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
          items={rows}
          rowHeight={rowHeight}
          keyOf={({ change_id }) => change_id}
          row={(change) => <Row change={change} />}
          label="Changes, newest first"
          total={text === "" && filter.tenant_id === "" ? listed.total : rows.length}
          page={listed.next}
          onEnd={() => (text === "" || listed.changes.length < SEARCHED) && readMore()}
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

function leadOf({ changes, total, next }: Listed, shown: number, { status, tenant_id }: Filter, text: string): string {
  const exact = tenant_id === "";
  const read = next === null ? "" : `; ${figure(changes.length)} read so far`;
  if (text !== "") return `${counted(shown, "change")} with these words${read}.`;
  if (!exact) return `${counted(shown, "change")} of this tenant${read}.`;
  return `${counted(total, "change")}${status === "" ? "" : " of this status"}, newest first${read}.`;
}

const Row = ({ change }: { change: Change }) => (
  <article class="change-row">
    <Mark of={statusMark(change)} />
    <div class="change-name">
      <a data-row href={changeHref(change.change_id)}>
        <Sentence parts={shortly(change)} />
      </a>
      <p class="quiet">
        <Given text={change.summary} />
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
