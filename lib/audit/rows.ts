/** Reads the complete log in pages of a few hundred entries, and yields to other requests between them. */
import { gather } from "../kit/gather.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import { countTextBytes } from "../store/engine/write_set.ts";
import type { Store, Text } from "../store/store.ts";
import { entryKey } from "./chain.ts";
import { entryLine } from "./entry.ts";

/** An entry's stored JSON text with its size in bytes. */
export interface Row extends Text {
  size: number;
}

/** Few enough entries to be read and parsed within milliseconds. */
const ENTRIES_PER_PAGE = 200;

/** Yields all entries in order, in pages, including those that are appended meanwhile. */
export async function* readLogRows(store: Pick<Store, "texts">): AsyncGenerator<Row[], undefined> {
  let last: Row | undefined;
  let ended = false;
  while (!ended) {
    const read = async (after: Row | undefined, limit: number): Promise<Row[]> => {
      const texts = await store.texts("audit", { after: (after ?? last)?.id ?? entryKey(0), limit });
      return texts.map(({ id, text }) => ({ id, text, size: countTextBytes(text) }));
    };
    const page = await gather<Row>({ limit: ENTRIES_PER_PAGE, maxScanned: ENTRIES_PER_PAGE, read });
    if (page.rows.length > 0) yield page.rows;
    ({ ended } = page);
    last = page.last ?? last;
    await yieldToEventLoop();
  }
  return undefined;
}

/** Yields the complete log in order, one line for each entry, with constant memory. */
export async function* writeJsonLines(store: Pick<Store, "texts">): AsyncGenerator<string, undefined> {
  for await (const rows of readLogRows(store)) yield rows.map(({ text }) => entryLine(text)).join("");
  return undefined;
}
