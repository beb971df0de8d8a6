/** Reads a collection page by page. */
import type { Collection, Listed, ListOptions, Reads, CollectionRecord } from "./store.ts";

/** Yields the pages of a collection, in order of ids; each is read when the one before it was used. The last may be empty. */
export async function* listPages<C extends Collection, K extends boolean = false>(
  reads: Pick<Reads, "list">,
  collection: C,
  options: Omit<ListOptions<K>, "after" | "reverse">,
): AsyncGenerator<Listed<K, CollectionRecord<C>>[], undefined> {
  for (let after = "", more = true; more;) {
    const page = await reads.list<C, K>(collection, { ...options, after });
    yield page;
    after = page.at(-1)?.id ?? after;
    more = page.length === options.limit;
  }
}
