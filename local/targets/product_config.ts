/** The format of the product config file, `countersign-product-config/1`: text to object and back, without loss. */
import { findInexactNumber } from "../../lib/kit/exact_numbers.ts";
import { JsonRejected, parseStrictJson } from "../../lib/kit/strict_json.ts";
import { FileUnusable } from "./file_error.ts";
import { isObject, type JsonObject } from "./json_object.ts";

const FORMAT = "countersign-product-config/1";

/** Number of newest changes that stay in the file although they are not in force. */
const MAX_CHANGES = 100;

/** One change in the file. `state` is `applied` or `rolled_back`, unless another program wrote another text. */
export interface ChangeState {
  state: string;
  kind: string;
  target: string;
  tenant_id: string;
  /** Time of the change's latest operation. */
  at: string;
  /** The later change that holds the target, or held it when this one was rolled back. Absent on an owner. */
  superseded_by?: string;
}

/** The file's content. Members that are not named here belong to other programs and are preserved. */
export interface Config extends JsonObject {
  product_id?: string;
  /** Rises with every write. */
  revision: number;
  /** The values that the host product should use now: by tenant, then by target. */
  values: JsonObject;
  /** By change id, oldest operation first. */
  changes: Record<string, ChangeState>;
}

/** The file's members about itself and its latest operation. */
export interface Header {
  product_id: string;
  instance_id: string;
  change_id: string;
  state: "applied" | "rolled_back";
  updated_at: string;
}

/** Parses the file's text; `undefined` (no file) and blank text are `{}`. Throws `FileUnusable`. */
export function parseConfig(text: string | undefined): Config {
  const content = text === undefined || text.trim() === "" ? {} : parseExactJson(text);
  if (!isObject(content)) throw new FileUnusable("does not hold a JSON object");
  const { format = FORMAT, product_id, revision = 0, values = {}, changes = {} } = content;
  if (format !== FORMAT) throw new FileUnusable(`has another format than ${FORMAT}`);
  if (product_id !== undefined && typeof product_id !== "string") throw new FileUnusable("product_id is not text");
  if (!Number.isSafeInteger(revision) || (revision as number) < 0)
    throw new FileUnusable("revision is not a whole number of 0 or more");
  if (!isObject(values)) throw new FileUnusable("values is not an object");
  if (!isObject(changes)) throw new FileUnusable("changes is not an object");
  for (const [id, change] of Object.entries(changes)) {
    const location = `changes[${JSON.stringify(id)}]`;
    if (!isObject(change)) throw new FileUnusable(`${location} is not an object`);
    for (const field of ["state", "target", "tenant_id"])
      if (typeof change[field] !== "string") throw new FileUnusable(`${location}.${field} is not text`);
    if (change.superseded_by !== undefined && typeof change.superseded_by !== "string")
      throw new FileUnusable(`${location}.superseded_by is not text`);
  }
  return { ...content, revision, values, changes } as Config;
}

/** Renders the next revision: the known members first, pretty-printed, with a trailing newline. */
export function renderConfig({ values, changes, ...rest }: Config, header: Header): string {
  const { product_id, instance_id, change_id, state, updated_at } = header;
  const revision = rest.revision + 1;
  const members = { format: FORMAT, product_id, instance_id, revision, change_id, state, updated_at };
  // `members` comes first for the order, and again because `rest` has the former values.
  return `${JSON.stringify({ ...members, ...rest, ...members, values, changes }, null, 2)}\n`;
}

/** Returns true for the latest applied change on a target: it stays in the file, however old it is. */
export const isOwner = (change: ChangeState): boolean =>
  change.state === "applied" && change.superseded_by === undefined;

/** Removes all but the owners and the latest 100 changes. */
export function pruneChanges(changes: Config["changes"]): void {
  for (const [id, change] of Object.entries(changes).slice(0, -MAX_CHANGES)) if (!isOwner(change)) delete changes[id];
}

/** Parses JSON that can be written again without loss. Throws `FileUnusable`. */
export function parseExactJson(text: string): unknown {
  let content: unknown;
  try {
    content = parseStrictJson(text);
  } catch (error) {
    if (error instanceof JsonRejected) throw new FileUnusable(error.message);
    throw error;
  }
  const path = findInexactNumber(text);
  if (path === undefined) return content;
  throw new FileUnusable(
    `holds a number that would be rounded when written again, at ${JSON.stringify(path)}`,
    "write the number as text or move the file away",
  );
}
