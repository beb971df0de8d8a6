/** What a pack is about: one change, or what happened in a period. */
import { entryKey } from "../../audit/chain.ts";
import type { AuditEntry } from "../../audit/entry.ts";
import { logRows } from "../../audit/rows.ts";
import type { Store } from "../../store/store.ts";
import { findChange, readRecords } from "../records.ts";
import type { Change } from "../rules/change.ts";
import { detailIn } from "../rules/event.ts";

/** `from` belongs to the period, `to` does not; RFC 3339 in UTC with milliseconds. */
export type Scope = { change_id: string } | { from: string; to?: string | undefined };

/** An entry with its JSON text, as it is kept. */
export interface Told {
  text: string;
  entry: AuditEntry;
}

const PAGE = 100;

/** The entries that a pack tells of, in order, page by page. */
export async function* entriesIn(store: Store, scope: Scope): AsyncGenerator<Told[], undefined> {
  if ("change_id" in scope) {
    const { audit } = await findChange(store, scope.change_id);
    for (let begin = 0; begin < audit.length; begin += PAGE)
      yield (await store.texts("audit", audit.slice(begin, begin + PAGE).map(entryKey))).map(toldBy);
    return undefined;
  }
  for await (const rows of logRows(store)) {
    const told = rows.map(toldBy).filter(({ entry }) => isTold(entry, scope));
    if (told.length > 0) yield told;
  }
  return undefined;
}

const isTold = ({ timestamp }: AuditEntry, scope: Scope): boolean =>
  "change_id" in scope || (scope.from <= timestamp && timestamp < (scope.to ?? "~"));

const toldBy = ({ text }: { text: string }): Told => ({ text, entry: JSON.parse(text) as AuditEntry });

/** The changes that are told of, each once, as they are now. */
export async function* changesIn(store: Store, scope: Scope): AsyncGenerator<Change, undefined> {
  let begin: number | undefined;
  for await (const page of entriesIn(store, scope)) {
    begin ??= page[0]!.entry.id;
    const first = new Map<string, number>();
    for (const { entry } of page)
      if (entry.change_id !== "" && !first.has(entry.change_id)) first.set(entry.change_id, entry.id);
    const ids = [...first.keys()];
    for (let at = 0; at < ids.length; at += PAGE)
      for (const record of await readRecords(store, ids.slice(at, at + PAGE))) {
        if (!record) continue;
        const { change, audit } = record;
        const before = audit.filter((id) => begin! <= id && id < first.get(change.change_id)!);
        if (!(await isAnyTold(store, scope, before))) yield change;
      }
  }
  return undefined;
}

/** Whether one of these entries is told of: an accepted clock steps back, so what lies between entries of a period need not be in it. */
async function isAnyTold(store: Store, scope: Scope, ids: readonly number[]): Promise<boolean> {
  for (const id of ids) {
    const found = await store.get("audit", entryKey(id));
    if (found && isTold(found.value, scope)) return true;
  }
  return false;
}

/** The hashes of the intents that entries name. */
export const intentsOf = (page: readonly Told[]): string[] =>
  page.flatMap(({ entry }) => detailIn(entry.detail).manifest_hash ?? []);
