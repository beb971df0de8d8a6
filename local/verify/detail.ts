/** Reads the detail of an entry. */
import { type Detail, parseObject, asText } from "./json.ts";
import type { Entry } from "./line.ts";

/** An entry with its detail read. */
export interface RecordedEntry {
  entry: Entry;
  detail: Detail;
}

/** Text is one character a byte until it is needed. */
export const decoded = (text: string): string => Buffer.from(text, "latin1").toString();

/** The detail of an entry; one that cannot be read says nothing. */
export const parseDetail = ({ detail }: Entry): Detail => parseObject(decoded(detail)) ?? {};

/** The intent that a detail names; anything but text names none. */
export const readManifestHash = ({ manifest_hash }: Detail): string => asText(manifest_hash) ?? "undefined";
