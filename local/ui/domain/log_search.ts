/** Search in the log. The service filters by event, tenant and change; the browser by date, person and text. */
import { parseDetail } from "../../../lib/changes/rules/event.ts";
import { describe, toSentence } from "../../../lib/wording/describe.ts";
import type { AuditEntry, AuditPage } from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { toPlainText } from "./sentences.ts";

const PAGE_SIZE = 50;
/** Entries per request when the browser filters them. */
const SCAN_PAGE_SIZE = 1000;
const MAX_REQUESTS = 10;

/** Criteria of a search; empty is "any". Days are `2026-11-23`, inclusive, in the reader's time zone. */
export interface LogQuery {
  event_type: string;
  tenant: string;
  change_id: string;
  from: string;
  to: string;
  person: string;
  text: string;
  before: string;
}

const PEOPLE = ["actor", "approver", "proposer", "asked_by", "by"] as const;

/** Returns true for an entry that names this person and has this text in its sentence, tenant, change or detail. */
export function isMatch(entry: AuditEntry, { person, text }: Pick<LogQuery, "person" | "text">): boolean {
  if (person !== "") {
    const facts: Record<string, unknown> = { ...parseDetail(entry.detail) };
    const names = PEOPLE.map((name) => String(facts[name] ?? "").toLowerCase());
    if (!names.some((name) => name.includes(person.toLowerCase()))) return false;
  }
  if (text === "") return true;
  const words = `${toPlainText(toSentence(describe(entry)))} ${entry.tenant} ${entry.change_id} ${entry.detail}`;
  return words.toLowerCase().includes(text.toLowerCase());
}

/** Reads a page of entries, newest first; `next` continues the search, also after a page with few matches. */
export async function searchLog(query: LogQuery, signal: AbortSignal): Promise<AuditPage> {
  const { event_type, tenant, change_id, from, to, person, text } = query;
  const needsScan = [from, to, person, text].some((criterion) => criterion !== "");
  const since = from === "" ? -Infinity : new Date(`${from}T00:00`).getTime();
  const until = to === "" ? Infinity : new Date(`${to}T23:59:59.999`).getTime();
  const entries: AuditEntry[] = [];
  let before = query.before;
  for (let requests = 1; ; requests++) {
    const limit = needsScan ? SCAN_PAGE_SIZE : PAGE_SIZE;
    const fields = { event_type, tenant, change_id, before, order: "desc", limit };
    const page = await get<AuditPage>("api/product/audit", fields, signal);
    if (!needsScan) return page;
    for (const entry of page.entries) {
      const at = Date.parse(entry.timestamp);
      if (at < since) return { ...page, entries, next: null };
      if (at > until || !isMatch(entry, query)) continue;
      entries.push(entry);
      if (entries.length === PAGE_SIZE) return { ...page, entries, next: entry.id };
    }
    if (page.next === null || requests === MAX_REQUESTS) return { ...page, entries };
    before = String(page.next);
  }
}
