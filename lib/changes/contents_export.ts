/**
 * Exports the log with contents, one JSON object per line. The entry of a proposal is followed by the content of its change, and
 * the entry of an intent by its manifest. Entries have the same form as in other exports. A content or manifest has, byte for
 * byte, the text whose hash the log records. The hash of what remains of an erased content is in the entry of its erasure.
 */
import { type AuditEntry, entryLine } from "../audit/entry.ts";
import { readLogRows, type Row } from "../audit/rows.ts";
import type { Store } from "../store/store.ts";
import type { Change } from "./rules/change.ts";
import { canonicalContent } from "./rules/content.ts";
import { parseDetail } from "./rules/event.ts";
import { readRecords } from "./records.ts";

/** Contents that are read in one request: at 64 KB each, a megabyte. */
const CONTENTS_PER_SLICE = 16;

/** Yields the complete log in order with its contents, in bounded memory. */
export async function* exportContents(store: Store): AsyncGenerator<string, undefined> {
  for await (const rows of readLogRows(store))
    for (let begin = 0; begin < rows.length;) {
      const end = findSliceEnd(rows, begin);
      yield await formatLines(store, rows.slice(begin, end));
      begin = end;
    }
  return undefined;
}

/** Recognizes entries with a content or manifest in their JSON text, so that the others need not be parsed. */
const HAS_CONTENT = /"event_type":"(?:change_proposed|intent_in_force)"/;

/** Returns the index at which a slice ends, so that it reads a bounded number of contents. */
function findSliceEnd(rows: readonly Row[], begin: number): number {
  let end = begin;
  for (let contents = 0; end < rows.length && contents < CONTENTS_PER_SLICE; end++)
    if (HAS_CONTENT.test(rows[end]!.text)) contents++;
  return end;
}

async function formatLines(store: Store, rows: readonly Row[]): Promise<string> {
  const entries = rows.map(({ text }) => (HAS_CONTENT.test(text) ? (JSON.parse(text) as AuditEntry) : undefined));
  const proposals = entries.flatMap((entry) => (entry?.event_type === "change_proposed" ? [entry.change_id] : []));
  const intents = entries.flatMap((entry) =>
    entry?.event_type === "intent_in_force" ? (parseDetail(entry.detail).manifest_hash ?? []) : [],
  );
  const [changes, manifests] = await Promise.all([readRecords(store, proposals), store.getMany("manifests", intents)]);
  const changeById = new Map(
    changes.flatMap((record, index) => (record ? [[proposals[index]!, record.change] as const] : [])),
  );
  const manifestByHash = new Map(
    manifests.flatMap((manifest) => (manifest ? [[manifest.id, manifest.value] as const] : [])),
  );
  return rows
    .map(({ text }, index) => {
      const entry = entries[index];
      const change = entry && changeById.get(entry.change_id);
      if (change) return entryLine(text) + contentLine(change);
      const hash = entry?.event_type === "intent_in_force" ? parseDetail(entry.detail).manifest_hash : undefined;
      const manifest = hash && manifestByHash.get(hash);
      return entryLine(text) + (manifest ? manifestLine(hash, manifest) : "");
    })
    .join("");
}

/** Formats the line of a content; an erased one is named `erased` and has only the fields that remain. */
const contentLine = (change: Change): string =>
  `{"change_id":${JSON.stringify(change.change_id)},"${change.erased ? "erased" : "content"}":${canonicalContent(change)}}\n`;

const manifestLine = (hash: string, manifest: string): string => `{"manifest_hash":"${hash}","manifest":${manifest}}\n`;
