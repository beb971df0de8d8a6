/** All that a view has, page by page. */
import type { ListOptions } from "../store.ts";
import type { Version } from "../version.ts";
import type { Awaitable, Row } from "./view.ts";

/** Parts of a dump. */
export interface DumpSource {
  /** The collections that have or had records, and the highest revision of what was deleted in each, 0 for nothing. */
  collections(): Awaitable<readonly { name: string; floor: number }[]>;
  list(collection: string, options: ListOptions<boolean>): Awaitable<readonly Row[]>;
}

/** Records read at a time. */
const PAGE = 100;

/** As `Whole.dump` gives it. What lies in the collection without a name is the store's own. */
export async function* dumpVersions({ collections, list }: DumpSource): AsyncGenerator<readonly Version[]> {
  const named = (await collections()).filter(({ name }) => name !== "");
  for (const { name } of named)
    for (let after: string | undefined; ;) {
      const page = (await list(name, { limit: PAGE, ...(after !== undefined && { after }) })) as readonly Version[];
      if (page.length > 0) yield page;
      if (page.length < PAGE) break;
      after = page.at(-1)!.id;
    }
  const floors = named.filter(({ floor }) => floor > 0);
  if (floors.length > 0)
    yield floors.map(({ name, floor }) => ({ collection: name, id: "", revision: floor, json: undefined }));
}
