/** The live records of a table, as they are read. */
import { rowsAfter } from "../engine/held.ts";
import { boundsOf } from "../engine/record_key.ts";
import type { Key, Version, View } from "../engine/view.ts";
import { HEAD_RECORD } from "../collections.ts";
import type { DynamoDbClient } from "./client.ts";
import { HEAD, headIn, isInHead, recordIn } from "./head.ts";
import { keyOf, partitionOf, rowIn } from "./items.ts";
import { getItem, getItems, query } from "./requests.ts";

/** A view of the table; the records that lie in the head are read from there. */
export function viewOf(client: DynamoDbClient): View {
  const itself = async (key: Key): Promise<Version | undefined> => {
    const item = await getItem(client, keyOf(key));
    return item && ((await rowIn(key.collection, item)) as Version);
  };
  return {
    async versions(keys) {
      const items = await getItems(
        client,
        keys.map((key) => (isInHead(key) ? HEAD : keyOf(key))),
      );
      const versions = keys.map(async (key, index) => {
        const item = items[index];
        if (!isInHead(key)) return item && ((await rowIn(key.collection, item)) as Version);
        // In a table of an earlier format it is an item of its own until it is written.
        return (item && recordIn(headIn(item), key)) ?? itself(key);
      });
      return Promise.all(versions);
    },
    async list(collection, options) {
      const bounds = boundsOf(options);
      const found = bounds ? await query(client, partitionOf(collection), bounds, options) : [];
      const rows = await Promise.all(found.map((item) => rowIn(collection, item)));
      if (collection !== HEAD_RECORD.collection) return rows;
      const record = recordIn(headIn((await getItem(client, HEAD)) ?? {}), HEAD_RECORD);
      return record?.json ? rowsAfter(rows, options, record)! : rows;
    },
  };
}
