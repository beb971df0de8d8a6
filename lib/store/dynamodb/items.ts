/** Records as items: a collection's live records are one partition, in order of their ids. */
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

/** A condition without which the complete request is rejected. */
interface Condition {
  ConditionExpression?: string;
  ExpressionAttributeValues?: Item;
}

/** A change of one item, made if its condition holds; else the whole request is refused. */
export interface Update {
  TableName: string;
  Key: Item;
  UpdateExpression: string;
  ConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues: Item;
}

/** The most bytes that a record's JSON may have: an item holds 400 KB, with its names and keys. */
export const MAX_VALUE_BYTES = 396 * 1024;

/** Bytes as an attribute. */
export function bytesAttribute(bytes: Uint8Array): Attribute {
  const chunks = [];
  for (let at = 0; at < bytes.length; at += BYTES_PER_CHUNK)
    chunks.push(String.fromCharCode(...bytes.subarray(at, at + BYTES_PER_CHUNK)));
  return { B: btoa(chunks.join("")) };
}

/** As many arguments as a call takes for certain. */
const BYTES_PER_CHUNK = 8192;

const bytesOf = ({ B = "" }: Attribute = {}): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(B), (character) => character.charCodeAt(0));

/** The partition of a collection's records. */
export const partitionKey = (collection: string): string => `record/${collection}`;

/** The key of a record's item. */
export const itemKey = ({ collection, id }: Key): Item => ({
  pk: { S: partitionKey(collection) },
  sk: bytesAttribute(sortKey(id)),
});

/** Tells keys apart in a map. */
export const formatItemKey = ({ pk, sk }: Item): string => `${sk?.B} ${pk?.S}`;

/** A record as its item has it; its id alone when no more of the item was read. */
export async function readRow(collection: string, { sk, revision, json, deflated }: Item): Promise<Row> {
  const id = parseId(bytesOf(sk));
  if (!revision) return { id };
  const text = deflated ? await inflate(bytesOf(deflated)) : json!.S!;
  return { collection, id, revision: Number(revision.N), json: new Json(text) };
}

/**
 * Writes a version over the one that was read, or where none was: a transaction's items come to be seen one by one, so that
 * the head may be seen moved and the item not yet.
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
  const Item = { ...key, revision: { N: String(revision) }, ...(await textOf(json)) };
  return { Put: { TableName, Item, ...condition } };
}

/** Writes are billed by the kilobyte: a text longer than this, in bytes with its overhead, is stored deflated. */
const MAX_PLAIN_BYTES = 850;

async function textOf({ text }: Json): Promise<Item> {
  if (text.length <= MAX_PLAIN_BYTES) return { json: { S: text } };
  const bytes = await deflate(text);
  return bytes.length < countTextBytes(text) ? { deflated: bytesAttribute(bytes) } : { json: { S: text } };
}

/** Refuses a record that no item can hold. */
export function requireStorableSize({ collection, id, json }: Version): void {
  const bytes = json ? countTextBytes(json.text) : 0;
  if (bytes > MAX_VALUE_BYTES)
    throw new RangeError(
      `${collection}/${id} has ${bytes} bytes as JSON; a record in DynamoDB may have ${MAX_VALUE_BYTES}`,
    );
}
