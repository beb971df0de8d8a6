/** The whole log, read in pages of a few hundred entries, each in a turn of the event loop of its own. */
import { gather } from "../kit/gather.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import { bytesOfText } from "../store/engine/write_set.ts";
import type { Store, Text } from "../store/store.ts";
import { entryKey } from "./chain.ts";
import { entryLine } from "./entry.ts";

/** An entry's JSON text as it is kept, with the bytes that it takes. */
export interface Row extends Text {
  size: number;
}

/** Entries that are read and parsed within a few milliseconds. */
const ENTRIES_PER_PAGE = 200;

/** All entries in order, page by page; those that come while it is read are read too. */
export async function* readLogRows(store: Pick<Store, "texts">): AsyncGenerator<Row[], undefined> {
  for (let last: Row | undefined, ended = false; !ended;) {
    const read = async (after: Row | undefined, limit: number): Promise<Row[]> => {
      const texts = await store.texts("audit", { after: (after ?? last)?.id ?? entryKey(0), limit });
      return texts.map(({ id, text }) => ({ id, text, size: bytesOfText(text) }));
    };
    const page = await gather<Row>({ limit: ENTRIES_PER_PAGE, looked: ENTRIES_PER_PAGE, read });
    if (page.rows.length > 0) yield page.rows;
    ({ ended } = page);
    last = page.last ?? last;
    await yieldToEventLoop();
  }
  return undefined;
}

/** Yields the whole chain in order, one entry a line; memory stays flat. */
export async function* writeJsonLines(store: Pick<Store, "texts">): AsyncGenerator<string, undefined> {
  for await (const rows of readLogRows(store)) yield rows.map(({ text }) => entryLine(text)).join("");
  return undefined;
}
