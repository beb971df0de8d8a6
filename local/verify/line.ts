/** Parses one line of an export. Text has one character for each byte, since most of it is only hashed and never decoded. */
import { hash } from "node:crypto";

/** An entry as its line states it. */
export interface Entry {
  origin: string;
  id: number;
  timestamp: string;
  eventType: string;
  changeId: string;
  tenant: string;
  detail: string;
  previousHash: string;
  currentHash: string;
  /** Expected value of `current_hash`. */
  computedHash: string;
}

const ESCAPED = String.raw`\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f]|85)|u202[89])`;
const TEXT = String.raw`("[^"\\\x00-\x1f]*(?:${ESCAPED}[^"\\\x00-\x1f]*)*")`;
const TAG = "countersign-audit/v1\n";
/** Any 64 characters; `hasHashes` checks that they are hex digits. */
const HASH = "([^]{64})";
const TIME = String.raw`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)`;

/**
 * The exact form that the service writes, with an id that is a safe integer. Other JSON for the same entry (spaces, other escapes,
 * a repeated member) is rejected, since two parsers could read it as two different entries.
 */
const FORM = new RegExp(
  [
    `^\\{"origin":${TEXT}`,
    `"id":([1-9]\\d{0,14})`,
    `"timestamp":"${TIME}"`,
    `"event_type":${TEXT}`,
    `"change_id":${TEXT}`,
    `"tenant":${TEXT}`,
    `"detail":${TEXT}`,
    `"previous_hash":"${HASH}"`,
    `"current_hash":"${HASH}"\\}$`,
  ].join(","),
);

/** Parses a line; undefined when it is not in that exact form. */
export function parseLine(line: string): Entry | undefined {
  const parts = FORM.exec(line);
  if (!parts || LINE_BREAKS.some(({ bytes }) => line.includes(bytes))) return undefined;
  const origin = parseJsonString(parts[1]!);
  const [id, timestamp, previousHash, currentHash] = [parts[2]!, parts[3]!, parts[8]!, parts[9]!];
  const [eventType, changeId, tenant, detail] = [
    parseJsonString(parts[4]!),
    parseJsonString(parts[5]!),
    parseJsonString(parts[6]!),
    parseJsonString(parts[7]!),
  ];
  // The hash covers the fields in another order than the line has them.
  const fields =
    encodeField(origin) +
    encodeField(previousHash) +
    encodeField(id) +
    encodeField(timestamp) +
    encodeField(eventType) +
    encodeField(changeId) +
    encodeField(tenant) +
    encodeField(detail);
  const computedHash = hash("sha256", toBytes(TAG + fields), "hex");
  return {
    origin,
    id: Number(id),
    timestamp,
    eventType,
    changeId,
    tenant,
    detail,
    previousHash,
    currentHash,
    computedHash,
  };
}

/** Checks that both hashes are 64 lower-case hex digits. */
export const hasHashes = ({ previousHash, currentHash }: Entry): boolean =>
  /^[0-9a-f]{128}$/.test(previousHash + currentHash);

/** Characters that are allowed in JSON strings and that many programs take for the end of a line: the service always escapes them. */
const LINE_BREAKS = ["\u0085", "\u2028", "\u2029"].map((text) => ({
  bytes: Buffer.from(text).toString("latin1"),
  escape: `\\u${text.charCodeAt(0).toString(16).padStart(4, "0")}`,
}));
const BACKSLASH = /\\(?:u0085|u202[89]|.)/g;

/** Parses a JSON string with its quotes. */
function parseJsonString(quoted: string): string {
  if (!quoted.includes("\\")) return quoted.slice(1, -1);
  const unescaped = LINE_BREAKS.some(({ escape }) => quoted.includes(escape))
    ? quoted.replace(BACKSLASH, (one) => LINE_BREAKS.find(({ escape }) => escape === one)?.bytes ?? one)
    : quoted;
  return JSON.parse(unescaped) as string;
}

/** Returns a field with its length in front: four bytes, big-endian. */
function encodeField(field: string): string {
  const { length } = field;
  return String.fromCharCode(length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255) + field;
}

const scratch = Buffer.alloc(64 * 1024);

/** Returns text of one character a byte as bytes, which are valid until the next call. */
const toBytes = (text: string): Buffer =>
  text.length > scratch.length ? Buffer.from(text, "latin1") : scratch.subarray(0, scratch.write(text, "latin1"));

/** Returns true for a line with the content of a change or an intent, which is no entry. */
export const isContentLine = (line: string): boolean =>
  line.startsWith('{"change_id":') || line.startsWith('{"manifest_hash":');
