/** What the detail of an entry says. */
import { type Detail, objectIn, textOf } from "./json.ts";
import type { Entry } from "./line.ts";

/** Text is one character a byte until it is needed. */
export const decoded = (text: string): string => Buffer.from(text, "latin1").toString();

/** The detail of an entry; one that cannot be read says nothing. */
export const detailOf = ({ detail }: Entry): Detail => objectIn(decoded(detail)) ?? {};

/** The intent that a detail names; anything but text names none. */
export const manifestIn = ({ manifest_hash }: Detail): string => textOf(manifest_hash) ?? "undefined";
