/** The whole log, read in pages of a megabyte at most. */
import { gather } from "../kit/gather.ts";
import { bytesOfText } from "../store/engine/write_set.ts";
import type { Store, Text } from "../store/store.ts";
import { entryKey } from "./chain.ts";

/** An entry's JSON text as it is kept, with the bytes that it takes. */
export interface Row extends Text {
  size: number;
}

const ENTRIES = 1000;

/** All entries in order, page by page; those that come while it is read are read too. */
export async function* logRows(store: Pick<Store, "texts">): AsyncGenerator<Row[], undefined> {
  for (let last: Row | undefined, ended = false; !ended;) {
    const read = async (after: Row | undefined, limit: number): Promise<Row[]> => {
      const texts = await store.texts("audit", { after: (after ?? last)?.id ?? entryKey(0), limit });
      return texts.map(({ id, text }) => ({ id, text, size: bytesOfText(text) }));
    };
    const page = await gather<Row>({ limit: ENTRIES, looked: ENTRIES, read });
    if (page.rows.length > 0) yield page.rows;
    ({ ended } = page);
    last = page.last ?? last;
  }
  return undefined;
}
