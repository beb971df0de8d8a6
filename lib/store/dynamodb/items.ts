/** Records as items: a collection's live records are one partition, in order of their ids. */
import type { Write } from "../engine/attempt.ts";
import { idOf, sortKey } from "../engine/record_key.ts";
import type { Key, Row, Version } from "../engine/view.ts";
import { bytesOfText } from "../engine/write_set.ts";
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
  | { Put: { TableName: string; Item: Item; ConditionExpression?: string } }
  | { Delete: { TableName: string; Key: Item } }
  | { Update: Update };

/** A change of one item, made if its condition holds; else the whole request is refused. */
export interface Update {
  TableName: string;
  Key: Item;
  UpdateExpression: string;
  ConditionExpression: string;
  ExpressionAttributeValues: Item;
}

/** The most bytes that a record's JSON may have: an item holds 400 KB, with its names and keys. */
export const LARGEST_VALUE = 396 * 1024;

/** Bytes as an attribute. */
export const binary = (bytes: Uint8Array): Attribute => ({ B: btoa(String.fromCharCode(...bytes)) });

const bytesOf = ({ B = "" }: Attribute = {}): Uint8Array =>
  Uint8Array.from(atob(B), (character) => character.charCodeAt(0));

/** The partition of a collection's records. */
export const partitionOf = (collection: string): string => `record/${collection}`;

/** The key of a record's item. */
export const keyOf = ({ collection, id }: Key): Item => ({
  pk: { S: partitionOf(collection) },
  sk: binary(sortKey(id)),
});

/** Tells keys apart in a map. */
export const nameOf = ({ pk, sk }: Item): string => `${sk?.B} ${pk?.S}`;

/** A record as its item has it; its id alone when no more of the item was read. */
export function rowIn(collection: string, { sk, revision, json }: Item): Row {
  const id = idOf(bytesOf(sk));
  return revision ? { collection, id, revision: Number(revision.N), json: new Json(json!.S!) } : { id };
}

/** Writes a version; where no record was, none may be. */
export function operationFor(TableName: string, { collection, id, revision, json, before }: Write): Operation {
  const key = keyOf({ collection, id });
  if (!json) return { Delete: { TableName, Key: key } };
  const Item = { ...key, revision: { N: String(revision) }, json: { S: json.text } };
  return { Put: { TableName, Item, ...(!before?.json && { ConditionExpression: "attribute_not_exists(pk)" }) } };
}

/** Refuses a record that no item can hold. */
export function checkSize({ collection, id, json }: Version): void {
  const bytes = json ? bytesOfText(json.text) : 0;
  if (bytes > LARGEST_VALUE)
    throw new RangeError(
      `${collection}/${id} has ${bytes} bytes as JSON; a record in DynamoDB may have ${LARGEST_VALUE}`,
    );
}
