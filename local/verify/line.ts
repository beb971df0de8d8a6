/** One line of an export, taken apart. Text is kept as one character a byte, so that nothing is decoded that is only hashed. */
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
/** Any 64 characters: `hasHashes` checks them. */
const HASH = "([^]{64})";
const TIME = String.raw`(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)`;

/**
 * The one form that the service writes. JSON knows many more for the same entry (spaces, other escapes, a repeated
 * member): they are refused, since two readers may take them for two different entries.
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

/** Takes a line apart; undefined when it is not in the one form. */
export function parseLine(line: string): Entry | undefined {
  const part = FORM.exec(line);
  if (!part || LINE_BREAKS.some(({ bytes }) => line.includes(bytes))) return undefined;
  const origin = plain(part[1]!);
  const [id, timestamp, previousHash, currentHash] = [part[2]!, part[3]!, part[8]!, part[9]!];
  const [eventType, changeId, tenant, detail] = [plain(part[4]!), plain(part[5]!), plain(part[6]!), plain(part[7]!)];
  const fields =
    measured(origin) +
    measured(previousHash) +
    measured(id) +
    measured(timestamp) +
    measured(eventType) +
    measured(changeId) +
    measured(tenant) +
    measured(detail);
  const computedHash = hash("sha256", bytesOf(TAG + fields), "hex");
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

/** Returns whether both hashes have the form of one. */
export const hasHashes = ({ previousHash, currentHash }: Entry): boolean =>
  /^[0-9a-f]{128}$/.test(previousHash + currentHash);

/** Characters that many readers take for the end of a line and that a JSON string may hold: always escaped. */
const LINE_BREAKS = ["\u0085", "\u2028", "\u2029"].map((text) => ({
  bytes: Buffer.from(text).toString("latin1"),
  escape: `\\u${text.charCodeAt(0).toString(16).padStart(4, "0")}`,
}));
const BACKSLASH = /\\(?:u0085|u202[89]|.)/g;

/** The text of a JSON string. */
function plain(quoted: string): string {
  if (!quoted.includes("\\")) return quoted.slice(1, -1);
  const unescaped = LINE_BREAKS.some(({ escape }) => quoted.includes(escape))
    ? quoted.replace(BACKSLASH, (one) => LINE_BREAKS.find(({ escape }) => escape === one)?.bytes ?? one)
    : quoted;
  return JSON.parse(unescaped) as string;
}

/** A field behind its length: four bytes, the highest first. */
function measured(field: string): string {
  const { length } = field;
  return String.fromCharCode(length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255) + field;
}

const scratch = Buffer.alloc(64 * 1024);

/** The bytes of text, until the next call. */
const bytesOf = (text: string): Buffer =>
  text.length > scratch.length ? Buffer.from(text, "latin1") : scratch.subarray(0, scratch.write(text, "latin1"));
