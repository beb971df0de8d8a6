/** Reads the detail of an entry. */
import { type JsonObject, parseObject, stringOrUndefined } from "./json.ts";
import type { Entry } from "./line.ts";

/** An entry with its detail read. */
export interface RecordedEntry {
  entry: Entry;
  detail: JsonObject;
}

/** Decodes text that has one character for each byte. */
export const decodeUtf8 = (text: string): string => Buffer.from(text, "latin1").toString();

/** Parses the detail of an entry; `{}` where it is no JSON object. */
export const parseDetail = ({ detail }: Entry): JsonObject => parseObject(decodeUtf8(detail)) ?? {};

/** Returns the manifest hash that a detail names; `"undefined"` where it names no text. */
export const readManifestHash = ({ manifest_hash }: JsonObject): string =>
  stringOrUndefined(manifest_hash) ?? "undefined";
