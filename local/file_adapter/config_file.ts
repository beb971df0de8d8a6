/** The config file's format, `countersign-product-config/1`: text to object and back, losing nothing on the way. */
import { JsonRefused, parseStrictJson } from "../../lib/kit/strict_json.ts";
import { isObject, type JsonObject } from "./json_object.ts";

export const FORMAT = "countersign-product-config/1";

/** What the file shows of one change. `state` is `applied` or `rolled_back`; another hand may have put anything. */
export interface Entry {
  state: string;
  kind: string;
  target: string;
  tenant_id: string;
  /** Time of the change's latest operation. */
  at: string;
  /** The later change that holds the target, or held it when this one was rolled back. Absent on an owner. */
  superseded_by?: string;
}

/** The file's content. Members that are not named here are another hand's, and are kept. */
export interface Config extends JsonObject {
  product_id?: string;
  /** Rises with every write. */
  revision: number;
  /** What the host product should use now: by tenant, then by target. */
  values: JsonObject;
  /** By change id, oldest operation first. */
  changes: Record<string, Entry>;
}

/** What the file says about itself and its latest operation. */
export interface Header {
  product_id: string;
  instance_id: string;
  change_id: string;
  state: "applied" | "rolled_back";
  updated_at: string;
}

/** The file cannot be used as it is; the message says what is wrong with it, the remedy what to do. Quotes no value. */
export class ConfigBroken extends Error {
  override readonly name = "ConfigBroken";
  readonly remedy: string;
  constructor(message: string, remedy = "correct it or move it away") {
    super(message);
    this.remedy = remedy;
  }
}

/** Reads the file's text; `undefined` (no file) and blank text are `{}`. Throws `ConfigBroken`. */
export function parseConfig(text: string | undefined): Config {
  const content = text === undefined || text.trim() === "" ? {} : parse(text);
  if (!isObject(content)) throw new ConfigBroken("does not hold a JSON object");
  const { format = FORMAT, product_id, revision = 0, values = {}, changes = {} } = content;
  if (format !== FORMAT) throw new ConfigBroken(`has another format than ${FORMAT}`);
  if (product_id !== undefined && typeof product_id !== "string") throw new ConfigBroken("product_id is not text");
  if (!Number.isSafeInteger(revision) || (revision as number) < 0)
    throw new ConfigBroken("revision is not a whole number of 0 or more");
  if (!isObject(values)) throw new ConfigBroken("values is not an object");
  if (!isObject(changes)) throw new ConfigBroken("changes is not an object");
  for (const [id, entry] of Object.entries(changes)) {
    const where = `changes[${JSON.stringify(id)}]`;
    if (!isObject(entry)) throw new ConfigBroken(`${where} is not an object`);
    for (const field of ["state", "target", "tenant_id"])
      if (typeof entry[field] !== "string") throw new ConfigBroken(`${where}.${field} is not text`);
    if (entry.superseded_by !== undefined && typeof entry.superseded_by !== "string")
      throw new ConfigBroken(`${where}.superseded_by is not text`);
  }
  return { ...content, revision, values, changes } as Config;
}

/** The text of the next revision: the known members first, pretty-printed, with a trailing newline. */
export function renderConfig({ values, changes, ...rest }: Config, header: Header): string {
  const { product_id, instance_id, change_id, state, updated_at } = header;
  const revision = rest.revision + 1;
  const known = { format: FORMAT, product_id, instance_id, revision, change_id, state, updated_at };
  return `${JSON.stringify({ ...known, ...rest, ...known, values, changes }, null, 2)}\n`;
}

function parse(text: string): unknown {
  try {
    const content = parseStrictJson(text);
    refuseRoundedNumbers(text);
    return content;
  } catch (error) {
    if (error instanceof JsonRefused) throw new ConfigBroken(error.message);
    throw error;
  }
}

const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** A number that JavaScript cannot hold would come back changed: another hand's 64-bit id, rounded. */
function refuseRoundedNumbers(text: string): void {
  for (const [token] of text.matchAll(STRING_OR_NUMBER)) {
    if (token.startsWith('"')) continue;
    const number = Number(token);
    const rounded = /^-?\d+$/.test(token) && !Number.isSafeInteger(number) && String(number) !== token;
    if (rounded || !Number.isFinite(number))
      throw new ConfigBroken("holds a number that would be rounded when written again; write it as text");
  }
}
