/** A log of small entries in a memory store, for tests that need length rather than meaning. */
import { type ChainHead, entryKey, nextEntry, readHead } from "../../../lib/audit/chain.ts";
import { opened, type TestDeps, type TestOptions } from "../../support/deps.ts";

/** Dependencies whose log has this many entries. */
export async function logOf(length: number, options: TestOptions = {}): Promise<TestDeps> {
  const deps = await opened(options);
  await lengthen(deps, length);
  return deps;
}

/** Appends entries, in one transaction. */
export async function lengthen({ store, sha256, clock }: TestDeps, entries: number): Promise<void> {
  await store.transact(async (tx) => {
    let head: ChainHead = (await readHead(tx))!;
    for (let i = 0; i < entries; i++) {
      const next = nextEntry(head, { event_type: "kpi_refreshed", detail: { i } }, clock.iso(), sha256);
      tx.put("audit", entryKey(next.entry.id), next.entry, 0);
      head = next.head;
    }
    tx.put("meta", "chain", head);
  });
}

/** The `current_hash` values of the log, in order. */
export async function leavesOf({ store }: TestDeps): Promise<string[]> {
  const entries = await store.list("audit", { limit: 100_000 });
  return entries.map(({ value }) => value.current_hash);
}
