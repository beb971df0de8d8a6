/** Reads the live records of a table. */
import { replaceRow } from "../engine/read_cache.ts";
import { keyBounds } from "../engine/record_key.ts";
import type { Version, View } from "../engine/view.ts";
import { HEAD_RECORD } from "../collections.ts";
import type { DynamoDbClient } from "./client.ts";
import { HEAD, parseHead, isInHead, findRecord } from "./head.ts";
import { itemKey, partitionKey, readRow } from "./items.ts";
import { getItem, getItems, query } from "./requests.ts";

/** Creates a view of the table; records that are stored in the head are read from it. */
export function createTableView(client: DynamoDbClient): View {
  return {
    async versions(keys) {
      const items = await getItems(
        client,
        keys.map((key) => (isInHead(key) ? HEAD : itemKey(key))),
      );
      const versions = keys.map(async (key, index) => {
        const item = items[index];
        if (isInHead(key)) return item && findRecord(parseHead(item), key);
        return item && ((await readRow(key.collection, item)) as Version);
      });
      return Promise.all(versions);
    },
    async list(collection, options) {
      const bounds = keyBounds(options);
      const found = bounds ? await query(client, partitionKey(collection), bounds, options) : [];
      const rows = await Promise.all(found.map((item) => readRow(collection, item)));
      if (collection !== HEAD_RECORD.collection) return rows;
      const record = findRecord(parseHead((await getItem(client, HEAD)) ?? {}), HEAD_RECORD);
      // Not undefined: only a page from which a deleted record is removed must be read again.
      return record?.json ? replaceRow(rows, options, record)! : rows;
    },
  };
}
