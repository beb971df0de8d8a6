/**
 * Records as items. A collection's records are one partition, in order of their ids; what was deleted stays for its
 * revision in a partition of its own, where it slows no page.
 */
import type { Key } from "../engine/async_write_set.ts";
import type { Version } from "../engine/write_set.ts";
import { idOf, sortKey } from "../engine/record_key.ts";
import type { Stored } from "../store.ts";

/** One attribute: text, a number as text, or bytes in base64. */
export interface Attribute {
  S?: string;
  N?: string;
  B?: string;
}

/** An item, or its key: `pk` and `sk`. */
export type Item = Record<string, Attribute>;

/** One member of a `TransactWriteItems`. */
export type Operation =
  | { Put: Operand & { Item: Item } }
  | { Delete: Operand & { Key: Item } }
  | { Update: Operand & { Key: Item; UpdateExpression: string } }
  | { ConditionCheck: Operand & { Key: Item } };

interface Operand extends Condition {
  TableName: string;
}

/** What must hold of an item, or the whole request is refused. */
export interface Condition {
  ConditionExpression?: string;
  ExpressionAttributeValues?: Item;
}

/** The most bytes that a record's JSON may have: an item holds 400 KB, with its names and keys. */
export const LARGEST_VALUE = 396 * 1024;

/** What a request may hold beside the head: 100 operations with it, and 4 MB with all that goes around the values. */
export const MOST_OPERATIONS = 99;
export const MOST_BYTES = 3_500_000;

const encoder = new TextEncoder();

/** Bytes as an attribute. */
export const binary = (bytes: Uint8Array): Attribute => ({ B: btoa(String.fromCharCode(...bytes)) });

/** The bytes of an attribute. */
export const bytesOf = ({ B = "" }: Attribute = {}): Uint8Array =>
  Uint8Array.from(atob(B), (character) => character.charCodeAt(0));

/** The partition of a collection's records. */
export const recordsOf = (collection: string): string => `record/${collection}`;
const deletedOf = (collection: string): string => `deleted/${collection}`;

const itemKey = (pk: string, id: string): Item => ({ pk: { S: pk }, sk: binary(sortKey(id)) });

/** The keys under which a record may be found: as a record, and as a deleted one. */
export const keysOf = ({ collection, id }: Key): [live: Item, deleted: Item] => [
  itemKey(recordsOf(collection), id),
  itemKey(deletedOf(collection), id),
];

/** Tells keys apart in a map. */
export const nameOf = ({ pk, sk }: Item): string => `${sk?.B} ${pk?.S}`;

/** The id of a record's item. */
export const idIn = (item: Item): string => idOf(bytesOf(item["sk"]));

/** A record as its item has it. */
export const storedOf = (item: Item): Stored => ({
  id: idIn(item),
  revision: Number(item["revision"]!.N),
  value: JSON.parse(item["json"]!.S!),
});

/** A record's last version, from what was found under its two keys. */
export function versionOf(
  { collection, id }: Key,
  live: Item | undefined,
  deleted: Item | undefined,
): Version | undefined {
  const item = live ?? deleted;
  return item && { collection, id, revision: Number(item["revision"]!.N), text: live?.["json"]!.S };
}

/** That a record is as it was read. */
export const unchanged = (before: Version | undefined): Condition =>
  before?.text === undefined
    ? { ConditionExpression: "attribute_not_exists(pk)" }
    : {
        ConditionExpression: "revision = :before",
        ExpressionAttributeValues: { ":before": { N: String(before.revision) } },
      };

/**
 * Writes a version. A deleted record that is put again stays among the deleted ones, where nobody looks while it lives: its
 * next deletion takes that place.
 */
export function operationsFor(TableName: string, next: Version, condition: Condition = {}): Operation[] {
  const [live, deleted] = keysOf(next);
  const revision: Attribute = { N: String(next.revision) };
  if (next.text !== undefined)
    return [{ Put: { TableName, Item: { ...live, revision, json: { S: next.text } }, ...condition } }];
  return [{ Delete: { TableName, Key: live, ...condition } }, { Put: { TableName, Item: { ...deleted, revision } } }];
}

/** About how many bytes a version takes in a request. */
export const sizeOf = ({ text }: Pick<Version, "text">): number =>
  3000 + (text === undefined ? 0 : encoder.encode(text).length);

/** Refuses a record that no item can hold. */
export function checkSize(version: Version): void {
  const bytes = version.text === undefined ? 0 : encoder.encode(version.text).length;
  if (bytes > LARGEST_VALUE)
    throw new RangeError(
      `${version.collection}/${version.id} has ${bytes} bytes as JSON; a record in DynamoDB may have ${LARGEST_VALUE}`,
    );
}
