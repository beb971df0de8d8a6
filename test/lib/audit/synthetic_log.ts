/** Creates logs of many small entries in a memory store, for tests to which the content of entries does not matter. */
import { type ChainHead, entryKey, nextEntry, readHead } from "../../../lib/audit/chain.ts";
import { writeRecords } from "../../support/write_records.ts";
import { openDeps, type TestDeps, type TestOptions } from "../../support/deps.ts";

/** Opens dependencies whose log has `length` entries. */
export async function makeLog(length: number, options: TestOptions = {}): Promise<TestDeps> {
  const deps = await openDeps(options);
  await lengthen(deps, length);
  return deps;
}

/** Appends entries, then stores the matching head. */
export async function lengthen({ store, sha256, clock }: TestDeps, entries: number): Promise<void> {
  let head: ChainHead = (await readHead(store))!;
  const appended = Array.from({ length: entries }, (_, i) => {
    const next = nextEntry(head, { event_type: "kpi_refreshed", detail: { i } }, clock.iso(), sha256);
    head = next.head;
    return next.entry;
  });
  // The revision 0 requires that no entry has this id yet.
  await writeRecords(store, appended, (tx, entry) => tx.put("audit", entryKey(entry.id), entry, 0));
  await store.transact((tx) => tx.put("meta", "chain", head));
}

/** Returns the `current_hash` values of the log, in order. */
export async function readLeaves({ store }: TestDeps): Promise<string[]> {
  const entries = await store.list("audit", { limit: 100_000 });
  return entries.map(({ value }) => value.current_hash);
}
