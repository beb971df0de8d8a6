/** The live records of a table, as they are read. */
import { rowsAfter } from "../engine/held.ts";
import { boundsOf } from "../engine/record_key.ts";
import type { Version, View } from "../engine/view.ts";
import { HEAD_RECORD } from "../collections.ts";
import type { DynamoDbClient } from "./client.ts";
import { HEAD, parseHead, isInHead, recordIn } from "./head.ts";
import { keyOf, partitionOf, rowIn } from "./items.ts";
import { getItem, getItems, query } from "./requests.ts";

/** A view of the table; the records that lie in the head are read from there. */
export function viewOf(client: DynamoDbClient): View {
  return {
    async versions(keys) {
      const items = await getItems(
        client,
        keys.map((key) => (isInHead(key) ? HEAD : keyOf(key))),
      );
      const versions = keys.map(async (key, index) => {
        const item = items[index];
        if (isInHead(key)) return item && recordIn(parseHead(item), key);
        return item && ((await rowIn(key.collection, item)) as Version);
      });
      return Promise.all(versions);
    },
    async list(collection, options) {
      const bounds = boundsOf(options);
      const found = bounds ? await query(client, partitionOf(collection), bounds, options) : [];
      const rows = await Promise.all(found.map((item) => rowIn(collection, item)));
      if (collection !== HEAD_RECORD.collection) return rows;
      const record = recordIn(parseHead((await getItem(client, HEAD)) ?? {}), HEAD_RECORD);
      return record?.json ? rowsAfter(rows, options, record)! : rows;
    },
  };
}
