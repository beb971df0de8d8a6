/** Reads a collection page by page, or record by record. */
import type { Collection, Listed, ListOptions, Reads, CollectionRecord } from "./store.ts";

type Paging<K extends boolean> = Omit<ListOptions<K>, "limit"> & { limit?: number };

const DEFAULT_PAGE_SIZE = 100;

/** Yields the pages of a collection, each with `limit` records at most. A page is read when it is requested; the last may be empty. */
export async function* listPages<C extends Collection, K extends boolean = false>(
  reads: Pick<Reads, "list">,
  collection: C,
  { limit = DEFAULT_PAGE_SIZE, ...options }: Paging<K> = {},
): AsyncGenerator<Listed<K, CollectionRecord<C>>[], undefined> {
  let { after } = options;
  for (;;) {
    const page = await reads.list<C, K>(collection, { ...options, limit, ...(after !== undefined && { after }) });
    yield page;
    if (page.length !== limit) return;
    after = page.at(-1)?.id;
  }
}

/** Yields the records of a collection, which are read in pages of `limit`. */
export async function* listRecords<C extends Collection, K extends boolean = false>(
  reads: Pick<Reads, "list">,
  collection: C,
  paging?: Paging<K>,
): AsyncGenerator<Listed<K, CollectionRecord<C>>, undefined> {
  for await (const page of listPages(reads, collection, paging)) yield* page;
}
