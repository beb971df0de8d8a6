/** The log: what happened, and whether the record can be believed. */
import { useEffect, useState } from "preact/hooks";
import { EVENT_NAMES } from "../../../lib/wording/describe.ts";
import type { AuditEntry } from "../core/api_types.ts";
import { shortenHash, formatNumber } from "../core/format.ts";
import { useTitle } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { href, replaceQuery, type Route } from "../core/router.tsx";
import { type LogQuery, searchLog } from "../domain/log_search.ts";
import { ChangeLink, useChangeTitles } from "../parts/change_link.tsx";
import { Download } from "../parts/download.tsx";
import { EntryText } from "../parts/entry.tsx";
import { Choice, Line } from "../parts/field.tsx";
import { Pending } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { Table } from "../parts/table.tsx";
import { UserText } from "../parts/text.tsx";
import { Moment } from "../parts/time.tsx";
import { Verify } from "./audit/verify.tsx";

/** Filters that are typed. */
const TYPED = [
  { name: "from", label: "From", type: "date" },
  { name: "to", label: "To", type: "date" },
  { name: "person", label: "Person" },
  { name: "text", label: "Text" },
  { name: "tenant", label: "Tenant" },
  { name: "change_id", label: "Change", placeholder: "chg_…" },
] as const satisfies readonly { name: keyof LogQuery; label: string; type?: "date"; placeholder?: string }[];
type Typed = Record<(typeof TYPED)[number]["name"], string>;

/** The log. */
export function AuditLogPage({ route: { query } }: { route: Route }) {
  const readFilter = (name: string) => query.get(name) ?? "";
  const filter = {
    event_type: readFilter("event_type"),
    ...(Object.fromEntries(TYPED.map(({ name }) => [name, readFilter(name)])) as Typed),
  };
  const before = readFilter("before");

  const { data: page, error } = useResource(`audit ${JSON.stringify([filter, before])}`, (signal) =>
    searchLog({ ...filter, before }, signal),
  );
  const { event_type: _, ...typed } = filter;
  const [text, setText] = useState<Typed>(typed);
  useEffect(() => setText(typed), [JSON.stringify(typed)]);
  useTitle("Audit");
  const set = (more: Record<string, string>) => replaceQuery(["audit"], { ...filter, ...more });
  return (
    <>
      <PageHead
        title="Audit"
        lead={page && `${formatNumber(page.length)} entries, each bound to the one before it by its hash.`}
      />
      {!page && <Pending error={error} what="the log" />}
      {page && (
        <>
          <div class="columns">
            <Verify origin={page.origin} />
            <Panel title="Download">
              <Download label="Pack of the days below" {...packOf(filter)} />
              <Download label={`Log of ${formatNumber(page.length)} entries`} {...LOG} />
              <Download label="Checkpoint" path="api/product/audit/checkpoint" name="checkpoint.json" />
              <p class="quiet">
                The pack has entries, contents and certificates of a change or of a period. All of them can be verified
                offline; a checkpoint shows later that no entry was lost.
              </p>
            </Panel>
          </div>
          <Panel title="Entries">
            <form
              class="filters"
              role="search"
              onSubmit={(event) => {
                event.preventDefault();
                set(text);
              }}
            >
              <Choice
                label="Event"
                value={filter.event_type}
                onValue={(event_type) => set({ event_type })}
                options={[["", "Any"], ...Object.entries(EVENT_NAMES)]}
              />
              {TYPED.map(({ name, label, ...rest }) => (
                <Line
                  key={name}
                  label={label}
                  type="search"
                  {...rest}
                  value={text[name]}
                  onValue={(value) => setText({ ...text, [name]: value })}
                />
              ))}
              <button type="submit" class="secondary">
                Filter
              </button>
            </form>
            <Entries entries={page.entries} />
            <nav class="pager" aria-label="Pages of the log">
              {before !== "" && <a href={href(["audit"], filter)}>Newest</a>}
              {page.next !== null && (
                <a href={href(["audit"], { ...filter, before: String(page.next) })}>
                  {page.entries.length === 0 ? "Search further back" : "Older"}
                </a>
              )}
            </nav>
          </Panel>
        </>
      )}
    </>
  );
}

const LOG = { path: "api/product/audit", query: { format: "jsonl" }, name: "audit.jsonl" };

/** Returns the auditor's pack of the change or of the days in the filter; the end of a period is exclusive. */
function packOf({ change_id, from, to }: Typed) {
  if (change_id !== "") return { path: "api/product/pack", query: { change_id }, name: `${change_id}.tar` };
  const start = new Date(`${from || "2000-01-01"}T00:00`);
  const end = to === "" ? undefined : new Date(`${to}T00:00`);
  end?.setDate(end.getDate() + 1);
  const query = { from: start.toISOString(), to: end?.toISOString() };
  return { path: "api/product/pack", query, name: `audit-${from || "all"}${to && `-${to}`}.tar` };
}

function Entries({ entries }: { entries: readonly AuditEntry[] }) {
  const titles = useChangeTitles("");
  if (entries.length === 0) return <p class="quiet">No entry matches here.</p>;
  return (
    <Table
      columns={["Entry", "When", "Event", "Change", "Tenant", "Hash"]}
      numbers={["Entry"]}
      rows={entries.map((entry) => [
        entry.id,
        [
          entry.id,
          <Moment at={entry.timestamp} />,
          <EntryText entry={entry} withReason />,
          entry.change_id === "" ? null : <ChangeLink id={entry.change_id} titles={titles} />,
          entry.tenant === "" ? null : <UserText text={entry.tenant} />,
          <code title={entry.current_hash}>{shortenHash(entry.current_hash)}</code>,
        ],
      ])}
    />
  );
}
