/** The audit log: its entries, their verification, and downloads. */
import { useEffect, useState } from "preact/hooks";
import { EVENT_NAMES, describe, toSentence } from "../../../lib/wording/describe.ts";
import type { AuditEntry, AuditVerdict } from "../core/api_types.ts";
import { shortenHash, formatNumber, formatJson } from "../core/format.ts";
import { useTitle } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { href, replaceQuery, type Route } from "../core/router.tsx";
import { type LogQuery, searchLog } from "../domain/log_search.ts";
import { ChangeLink, useChangeTitles } from "../parts/change_name.tsx";
import { Download } from "../parts/download.tsx";
import { Choice, Line } from "../parts/field.tsx";
import { Pending, Notice } from "../parts/notice.tsx";
import { PageHead, Panel, Disclosure } from "../parts/panel.tsx";
import { Table } from "../parts/table.tsx";
import { UserText, Code, Sentence } from "../parts/text.tsx";
import { Moment } from "../parts/time.tsx";
import { shorten } from "../../../lib/kit/quote.ts";
import { get, type Query } from "../core/api.ts";
import { findReceipt } from "../domain/receipts.ts";
import { humanizeName } from "../domain/statuses.ts";
import { ChainCheck } from "../parts/chain_check.tsx";

/** Text and date filters; the event is chosen from a list. */
const TEXT_FILTERS = [
  { name: "from", label: "From", type: "date" },
  { name: "to", label: "To", type: "date" },
  { name: "person", label: "Person" },
  { name: "text", label: "Text" },
  { name: "tenant", label: "Tenant" },
  { name: "change_id", label: "Change", placeholder: "chg_…" },
] as const satisfies readonly { name: keyof LogQuery; label: string; type?: "date"; placeholder?: string }[];
type TextFilters = Record<(typeof TEXT_FILTERS)[number]["name"], string>;

export function AuditLogPage({ route: { query } }: { route: Route }) {
  const readFilter = (name: string) => query.get(name) ?? "";
  const filter = {
    event_type: readFilter("event_type"),
    ...(Object.fromEntries(TEXT_FILTERS.map(({ name }) => [name, readFilter(name)])) as TextFilters),
  };
  const before = readFilter("before");

  const { data: page, error } = useResource(`audit ${JSON.stringify([filter, before])}`, (signal) =>
    searchLog({ ...filter, before }, signal),
  );
  const { event_type: _, ...typed } = filter;
  const [text, setText] = useState<TextFilters>(typed);
  useEffect(() => setText(typed), [JSON.stringify(typed)]);
  useTitle("Audit");
  const changeFilter = (more: Record<string, string>) => replaceQuery(["audit"], { ...filter, ...more });
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
              <Download label="Pack of the days below" {...describePack(filter)} />
              <Download label={`Log of ${formatNumber(page.length)} entries`} {...LOG_FILE} />
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
                changeFilter(text);
              }}
            >
              <Choice
                label="Event"
                value={filter.event_type}
                onValue={(event_type) => changeFilter({ event_type })}
                options={[["", "Any"], ...Object.entries(EVENT_NAMES)]}
              />
              {TEXT_FILTERS.map(({ name, label, ...rest }) => (
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

const LOG_FILE = { path: "api/product/audit", query: { format: "jsonl" }, name: "audit.jsonl" };

/** Returns the request for the auditor's pack of the change or of the days in the filter; the end of a period is exclusive. */
function describePack({ change_id, from, to }: TextFilters) {
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

const MAX_REASON = 200;

/** An entry as a sentence, optionally with its reason, and its detail on demand. */
function EntryText({ entry, withReason = false }: { entry: AuditEntry; withReason?: boolean }) {
  const { reason, ...described } = describe(entry);
  const shortReason = typeof reason === "object" ? { ...reason, text: shorten(reason.text, MAX_REASON) } : reason;
  const sentence = toSentence(withReason && shortReason ? { ...described, reason: shortReason } : described);
  return (
    <div class="event">
      <span>
        <Sentence parts={sentence} />
      </span>{" "}
      <details class="inline">
        <summary>Detail</summary>
        <Code label={`Detail of entry ${entry.id}`}>{formatDetail(entry.detail)}</Code>
      </details>
    </div>
  );
}

/** Formats a detail that is JSON; any other text is returned unchanged. */
function formatDetail(detail: string): string {
  try {
    return formatJson(JSON.parse(detail));
  } catch {
    return detail;
  }
}

const NOT_CHECKED: Readonly<Record<string, string>> = {
  tail_truncation: "entries removed from the end",
  full_rewrite: "a rewritten log",
};

/** Offers to check the chain in this browser, without trusting the service, or to ask the service. */
export function Verify({ origin }: { origin: string }) {
  const receipt = findReceipt(origin);
  return (
    <Panel title="Verify">
      <p class="quiet">
        {receipt
          ? `Verified against this browser's newest receipt: entry ${formatNumber(receipt.length)}, ${shortenHash(receipt.head)}`
          : "This browser has no receipt of this log yet. It gets one with your first proposal or decision."}
      </p>
      <ChainCheck from={1} origin={origin} label="Check in this browser" />
      <Disclosure summary="Ask the service">
        {() => (
          <ServiceVerdict expected={receipt && { expected_length: receipt.length, expected_head: receipt.head }} />
        )}
      </Disclosure>
    </Panel>
  );
}

function ServiceVerdict({ expected = {} }: { expected: Query | undefined }) {
  const read = (signal: AbortSignal) => get<AuditVerdict>("api/product/audit/verify", expected, signal);
  const { data, error } = useResource(`verify ${JSON.stringify(expected)}`, read, { concerns: () => false });
  return data ? <VerdictText verdict={data} /> : <Pending error={error} what="the verdict" />;
}

function VerdictText({ verdict }: { verdict: AuditVerdict }) {
  const { valid, length, head, first_invalid, reason, not_checked } = verdict;
  return (
    <Notice tone={valid ? "good" : "bad"} alert>
      <p>
        {valid ? (
          <>
            The service finds all {formatNumber(length)} entries sound, up to{" "}
            <code title={head}>{shortenHash(head)}</code>.
          </>
        ) : (
          <>
            {first_invalid === null
              ? "The chain is valid, but another check failed: "
              : `The chain breaks at entry ${first_invalid}: `}
            <UserText text={reason ?? "the service gives no reason"} />.
          </>
        )}
      </p>
      {not_checked.length > 0 && (
        <p class="quiet">
          This cannot show {not_checked.map((check) => NOT_CHECKED[check] ?? humanizeName(check)).join(" or ")}.
        </p>
      )}
    </Notice>
  );
}
