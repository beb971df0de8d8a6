/** Stores by their addresses on a command line: a path, `postgres://…`, `dynamodb://table?region=…`. */
import { resolve } from "node:path";
import { consoleWarnings, type Log } from "../../lib/kit/platform.ts";
import { MoveRefused } from "../../lib/store/move/refused_move.ts";
import type { Store } from "../../lib/store/store.ts";
import type { Whole } from "../../lib/store/whole.ts";
import type { MoveSource } from "../../lib/changes/moving/fence.ts";
import { acquireLock, AlreadyRunning, lockFolder } from "../lock.ts";
import { hideArgument, openStore, formatStateName, DEFAULT_STORE_NAME } from "../open_store.ts";
import { isDatabase, parseStateAddress, parseStoreName } from "../option_values.ts";
import type { Environment } from "../secrets.ts";
import { LAYOUT } from "../../lib/store/layout.ts";
import { nodeFiles, statePaths } from "../store/files.ts";
import { openFileStore } from "../store/file_store.ts";
import { dumpFiles, storeExists, readMarkFromFiles } from "../store/whole.ts";
import { askOwner } from "./ask_owner.ts";
import { listStores } from "./stores_in.ts";

/** A store that is copied or moved away from, and open until it is closed. */
export interface Source extends MoveSource {
  close(): Promise<void>;
}

/** A store that has an address. */
export interface StoreAddress {
  /** For people and the log: without a password. */
  name: string;
  /** To be copied, which changes nothing about it. */
  copied(): Promise<Source>;
  /** To be moved, from under the service that uses it. */
  departed(): Promise<Source>;
  /** To be loaded. */
  opened(): Promise<Store>;
}

/** Which store it is among those of a database. */
export interface StoreName {
  /** As it was asked for: a file and a table have none. */
  given?: string | undefined;
  /** Default for all, from a variable. */
  usual?: string | undefined;
}

/** Reads an address; `env:NAME` is the one that a variable holds. Errors: an Error for people, which repeats no password. */
export function storeAddress(
  given: string,
  env: Environment,
  store: StoreName = {},
  log: Log = consoleWarnings,
): StoreAddress {
  const text = given.startsWith("env:") ? env[given.slice(4)] : given;
  if (!text) throw new MoveRefused(`${given}: the variable ${given.slice(4)} is not set`);
  const isTable = /^dynamodb:/i.test(text);
  let address = text;
  try {
    if (!isTable) address = parseStateAddress(text);
  } catch (error) {
    throw new MoveRefused(`the address of a store ${(error as Error).message}, or dynamodb://table?region=…`);
  }
  if (isDatabase(address)) return inDatabase(address, nameIn(store), log);
  if (store.given !== undefined)
    throw new MoveRefused(`${given} has no stores of several names: only a database, postgres://…, does`);
  return isTable ? table(text, env) : file(address, log);
}

function nameIn({ given, usual }: StoreName): string {
  const name = given ?? (usual || DEFAULT_STORE_NAME);
  try {
    return parseStoreName(name);
  } catch (error) {
    throw new MoveRefused(`the name of a store, ${JSON.stringify(name)}, ${(error as Error).message}`);
  }
}

/** One of the stores in a database. */
function inDatabase(address: string, store: string, log: Log): StoreAddress {
  const place = formatStateName(address);
  const name = store === DEFAULT_STORE_NAME ? place : `${place}, store ${store}`;
  // As a process list shows it no longer.
  const hide = (): void => hideArgument(address, "countersign");
  const all = shared(name, () => {
    hide();
    return openStore(address, log, store);
  });
  // To open it makes what is not there; what is copied has to be there.
  const source = async (): Promise<Source> => {
    hide();
    const there = await listStores(address);
    if (there.includes(store)) return all.departed();
    const others = there.slice(0, SHOWN).join(", ") + (there.length > SHOWN ? ", …" : "");
    throw new MoveRefused(
      `${place} has no store ${store}: it has ${others === "" ? "none" : `${others}, which a name tells apart`}`,
    );
  };
  return { ...all, copied: source, departed: source };
}

/** Maximum number of names in a message. */
const SHOWN = 10;

/** A store that several processes use: this one is one of them. */
function shared(name: string, open: () => Promise<Store>): StoreAddress {
  const source = async (): Promise<Source> => {
    const store = await open();
    return { from: store.whole!, name, close: () => store.close() };
  };
  return { name, copied: source, departed: source, opened: open };
}

const TABLE_RULE =
  "the address of a table reads dynamodb://table?region=eu-central-1, with &endpoint=… for a server other than AWS's own";

function table(text: string, env: Environment): StoreAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const [region, endpoint] = ["region", "endpoint"].map((name) => url?.searchParams.get(name) ?? undefined);
  const name = decodeURIComponent(url?.hostname ?? "");
  // A name in capitals is one, which a URL of no web scheme leaves as it is.
  if (!url || !/^[\w.-]{3,255}$/.test(name) || url.username !== "" || !/^\/?$/.test(url.pathname))
    throw new MoveRefused(TABLE_RULE);
  const inRegion = region ?? env["AWS_REGION"];
  if (!inRegion) throw new MoveRefused(`${TABLE_RULE}; or set AWS_REGION`);
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN: sessionToken } = env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY)
    throw new MoveRefused(
      "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN, if the keys have one)",
    );
  const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY, sessionToken };
  return shared(`dynamodb://${name}?region=${inRegion}`, async () => {
    const { dynamoDbStore } = await import("../../lib/store/dynamodb/store.ts");
    return dynamoDbStore({ table: name, region: inRegion, credentials, ...(endpoint !== undefined && { endpoint }) });
  });
}

function file(path: string, log: Log): StoreAddress {
  const parts = (at: string) => ({ files: nodeFiles, paths: statePaths(at), sequences: LAYOUT.sequences });
  const requireThere = (at: string): void => {
    if (!storeExists(nodeFiles, statePaths(at))) throw new MoveRefused(`there is no store at ${path}`);
  };
  const asFiles = (at: string, commit: Whole["commit"]): Whole => ({
    dump: () => dumpFiles(parts(at)),
    atOneMoment: true,
    mark: () => readMarkFromFiles(parts(at)),
    commit,
    clear: () => Promise.reject(new Error("a store that another process uses is not loaded")),
  });
  return {
    // In full: a log and a mark are read from elsewhere too.
    name: resolve(path),
    // Its files tell all of it, whether a service writes to them or not.
    async copied() {
      requireThere(path);
      const readOnly = () => Promise.reject(new Error("a copy writes nothing"));
      return { from: asFiles(path, readOnly), name: resolve(path), close: async () => {} };
    },
    async departed() {
      requireThere(path);
      try {
        const store = await openOwn(path, log);
        return { from: store.whole!, name: resolve(path), close: () => store.close() };
      } catch (error) {
        if (!(error instanceof AlreadyRunning)) throw error;
      }
      const commit = await askOwner(await lockFolder(path));
      if (!commit)
        throw new MoveRefused(
          `${path} is in use by a service that cannot be reached here: stop it, and give the command again`,
        );
      return { from: asFiles(path, commit), name: resolve(path), close: async () => {} };
    },
    opened: () => openOwn(path, log),
  };
}

/** A store that this process alone owns until it is closed. */
async function openOwn(path: string, log: Log): Promise<Store> {
  const lock = await acquireLock(path);
  try {
    const store = await openFileStore({ path: lock.path, log });
    return { ...store, close: () => store.close().finally(lock.release) };
  } catch (error) {
    await lock.release();
    throw error;
  }
}
