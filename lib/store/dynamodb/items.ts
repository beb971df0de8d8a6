/** Conversion of records to items of a DynamoDB table, and back. The live records of a collection are one partition, sorted by id. */
import type { Write } from "../engine/attempt.ts";
import { parseId, sortKey } from "../engine/record_key.ts";
import type { Key, Row, Version } from "../engine/view.ts";
import { countTextBytes } from "../engine/write_set.ts";
import { deflate, inflate } from "../../kit/deflate.ts";
import { Json } from "../json.ts";

/** One attribute: text, a number as text, bytes in base64, or a map. */
export interface Attribute {
  S?: string;
  N?: string;
  B?: string;
  M?: Item;
}

/** An item, or its key: `pk` and `sk`. */
export type Item = Record<string, Attribute>;

/** One member of a `TransactWriteItems`. */
export type Operation =
  | { Put: { TableName: string; Item: Item } & Condition }
  | { Delete: { TableName: string; Key: Item } & Condition }
  | { Update: Update };

/** A condition; if it fails, the complete request is rejected. */
interface Condition {
  ConditionExpression?: string;
  ExpressionAttributeValues?: Item;
}

/** An update of one item; if its condition fails, the complete request is rejected. */
export interface Update {
  TableName: string;
  Key: Item;
  UpdateExpression: string;
  ConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues: Item;
}

/** Maximum size of a record's JSON: an item has 400 KB at most, including names and keys. */
export const MAX_VALUE_BYTES = 396 * 1024;

/** Bytes as an attribute. */
export function bytesAttribute(bytes: Uint8Array): Attribute {
  const chunks = [];
  for (let start = 0; start < bytes.length; start += BYTES_PER_CHUNK)
    chunks.push(String.fromCharCode(...bytes.subarray(start, start + BYTES_PER_CHUNK)));
  return { B: btoa(chunks.join("")) };
}

/** A number of arguments that every JavaScript engine accepts in one call. */
const BYTES_PER_CHUNK = 8192;

const decodeBytes = ({ B = "" }: Attribute = {}): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(B), (character) => character.charCodeAt(0));

/** Returns the partition key of a collection's records. */
export const partitionKey = (collection: string): string => `record/${collection}`;

/** Returns the key of a record's item. */
export const itemKey = ({ collection, id }: Key): Item => ({
  pk: { S: partitionKey(collection) },
  sk: bytesAttribute(sortKey(id)),
});

/** Returns an item's key as one text, for maps. */
export const formatItemKey = ({ pk, sk }: Item): string => `${sk?.B} ${pk?.S}`;

/** Converts an item to a record; only its id if only the item's key was read. */
export async function readRow(collection: string, { sk, revision, json, deflated }: Item): Promise<Row> {
  const id = parseId(decodeBytes(sk));
  if (!revision) return { id };
  const text = deflated ? await inflate(decodeBytes(deflated)) : json!.S!;
  return { collection, id, revision: Number(revision.N), json: new Json(text) };
}

/**
 * Creates the operation that stores a version if the stored item still has the revision of `before`, or is still absent. The
 * check of the head is not enough: the items of a transaction become visible one by one, so a read may return the new head and
 * an old item.
 */
export async function createWriteOperation(
  TableName: string,
  { collection, id, revision, json, before }: Write,
): Promise<Operation> {
  const key = itemKey({ collection, id });
  const condition: Condition = before?.json
    ? {
        ConditionExpression: "revision = :before",
        ExpressionAttributeValues: { ":before": { N: String(before.revision) } },
      }
    : { ConditionExpression: "attribute_not_exists(pk)" };
  if (!json) return { Delete: { TableName, Key: key, ...condition } };
  const Item = { ...key, revision: { N: String(revision) }, ...(await toTextAttribute(json)) };
  return { Put: { TableName, Item, ...condition } };
}

/** Longer texts are compressed: writes are billed by the kilobyte, including names and keys. */
const MAX_PLAIN_CHARACTERS = 850;

async function toTextAttribute({ text }: Json): Promise<Item> {
  if (text.length <= MAX_PLAIN_CHARACTERS) return { json: { S: text } };
  const bytes = await deflate(text);
  return bytes.length < countTextBytes(text) ? { deflated: bytesAttribute(bytes) } : { json: { S: text } };
}

/** Rejects a record that is too large for an item. Errors: `RangeError`. */
export function requireStorableSize({ collection, id, json }: Version): void {
  const bytes = json ? countTextBytes(json.text) : 0;
  if (bytes > MAX_VALUE_BYTES)
    throw new RangeError(
      `${collection}/${id} has ${bytes} bytes as JSON; a record in DynamoDB may have ${MAX_VALUE_BYTES}`,
    );
}
