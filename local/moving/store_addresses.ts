/** Opens stores by their addresses: a path, `postgres://…`, `dynamodb://table?region=…`. */
import { resolve } from "node:path";
import { consoleWarnings, type Log } from "../../lib/kit/platform.ts";
import { MoveRejected } from "../../lib/store/move/move_rejected.ts";
import type { Store } from "../../lib/store/store.ts";
import type { BulkAccess } from "../../lib/store/bulk_access.ts";
import type { MoveSource } from "../../lib/changes/moving/fence.ts";
import { acquireLock, AlreadyRunning, lockFolder } from "../lock.ts";
import { hideArgument, openStore, formatStateName, DEFAULT_STORE_NAME } from "../open_store.ts";
import { isDatabase, parseStateAddress, parseStoreName } from "../option_values.ts";
import type { Environment } from "../secrets.ts";
import { LAYOUT } from "../../lib/store/layout.ts";
import { nodeFiles, statePaths } from "../store/files.ts";
import { openFileStore } from "../store/file_store.ts";
import { dumpFiles, storeExists, readMoveStateFromFiles } from "../store/bulk_access.ts";
import { findOwnerCommit } from "./owner_client.ts";
import { listStores } from "./list_stores.ts";

/** An open store that is copied or moved. */
export interface Source extends MoveSource {
  close(): Promise<void>;
}

/** A store that has an address. */
export interface StoreAddress {
  /** Name for messages and the log, without a password. */
  name: string;
  /** Opens the store for a copy, which does not change it. */
  openForCopy(): Promise<Source>;
  /** Opens the store for a move, also while a service uses it. */
  openForMove(): Promise<Source>;
  /** Opens the store to load data into it. */
  openForLoad(): Promise<Store>;
}

/** Name of a store in a database. */
export interface StoreName {
  /** From an option; a file or a table has none. */
  fromOption?: string | undefined;
  /** Default, from a variable. */
  fromVariable?: string | undefined;
}

/** Parses an address; `env:NAME` is the value of a variable. Errors: sentences for people, without passwords. */
export function storeAddress(
  addressOption: string,
  env: Environment,
  store: StoreName = {},
  log: Log = consoleWarnings,
): StoreAddress {
  const text = addressOption.startsWith("env:") ? env[addressOption.slice(4)] : addressOption;
  if (addressOption === "") throw new MoveRejected("the address of a store is empty");
  if (!text) throw new MoveRejected(`${addressOption}: the variable ${addressOption.slice(4)} is not set`);
  const isTable = /^dynamodb:/i.test(text);
  let address = text;
  try {
    if (!isTable) address = parseStateAddress(text);
  } catch (error) {
    throw new MoveRejected(`the address of a store ${(error as Error).message}, or dynamodb://table?region=…`);
  }
  if (isDatabase(address)) return databaseStore(address, parseName(store), log);
  if (store.fromOption !== undefined)
    throw new MoveRejected(`${addressOption} has no stores of several names: only a database, postgres://…, does`);
  return isTable ? tableStore(text, env) : fileStoreAddress(address, log);
}

function parseName({ fromOption, fromVariable }: StoreName): string {
  // An empty variable counts as not set, an empty option does not.
  const name = fromOption ?? (fromVariable || DEFAULT_STORE_NAME);
  try {
    return parseStoreName(name);
  } catch (error) {
    throw new MoveRejected(`the name of a store, ${JSON.stringify(name)}, ${(error as Error).message}`);
  }
}

/** One of the stores in a database. */
function databaseStore(address: string, store: string, log: Log): StoreAddress {
  const location = formatStateName(address);
  const name = store === DEFAULT_STORE_NAME ? location : `${location}, store ${store}`;
  // Hides the address from the list of processes.
  const hide = (): void => hideArgument(address, "countersign");
  const shared = sharedStore(name, () => {
    hide();
    return openStore(address, log, store);
  });
  // Opening a store would create it, and a source must exist.
  const openSource = async (): Promise<Source> => {
    hide();
    const existing = await listStores(address);
    if (existing.includes(store)) return shared.openForMove();
    const others = existing.slice(0, MAX_LISTED_NAMES).join(", ") + (existing.length > MAX_LISTED_NAMES ? ", …" : "");
    throw new MoveRejected(
      `${location} has no store ${store}: it has ${others === "" ? "none" : `${others}; name one of them`}`,
    );
  };
  return { ...shared, openForCopy: openSource, openForMove: openSource };
}

/** Maximum number of names in a message. */
const MAX_LISTED_NAMES = 10;

/** Creates the address of a store that several processes may use. */
function sharedStore(name: string, open: () => Promise<Store>): StoreAddress {
  const openSource = async (): Promise<Source> => {
    const store = await open();
    return { from: store.bulk!, name, close: () => store.close() };
  };
  return { name, openForCopy: openSource, openForMove: openSource, openForLoad: open };
}

const TABLE_RULE =
  "the address of a table reads dynamodb://table?region=eu-central-1, with &endpoint=… for a server other than AWS's own";

function tableStore(text: string, env: Environment): StoreAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const [region, endpoint] = ["region", "endpoint"].map((name) => url?.searchParams.get(name) ?? undefined);
  // For this scheme URL does not change upper case in the host, so it is the name of the table.
  const name = url?.hostname ?? "";
  if (!url || !/^[\w.-]{3,255}$/.test(name) || url.username !== "" || !/^\/?$/.test(url.pathname))
    throw new MoveRejected(TABLE_RULE);
  const inRegion = region ?? env["AWS_REGION"];
  if (!inRegion) throw new MoveRejected(`${TABLE_RULE}; or set AWS_REGION`);
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN: sessionToken } = env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY)
    throw new MoveRejected(
      "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN, if the keys have one)",
    );
  const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY, sessionToken };
  return sharedStore(`dynamodb://${name}?region=${inRegion}`, async () => {
    const { dynamoDbStore } = await import("../../lib/store/dynamodb/store.ts");
    return dynamoDbStore({ table: name, region: inRegion, credentials, ...(endpoint !== undefined && { endpoint }) });
  });
}

function fileStoreAddress(path: string, log: Log): StoreAddress {
  const paths = statePaths(path);
  const parts = { files: nodeFiles, paths, sequences: LAYOUT.sequences };
  const requireStore = (): void => {
    if (!storeExists(nodeFiles, paths)) throw new MoveRejected(`there is no store at ${path}`);
  };
  const openSnapshot = (commit: BulkAccess["commit"]): BulkAccess => ({
    dump: () => dumpFiles(parts),
    atOneMoment: true,
    moveState: () => readMoveStateFromFiles(parts),
    commit,
    clear: () => Promise.reject(new Error("a store that is opened as a source is not loaded")),
  });
  return {
    // The absolute path, since the log and the move state that record it are read elsewhere too.
    name: resolve(path),
    // The files are read directly, whether a service writes to them or not.
    async openForCopy() {
      requireStore();
      const readOnly = () => Promise.reject(new Error("a copy writes nothing"));
      return { from: openSnapshot(readOnly), name: resolve(path), close: async () => {} };
    },
    async openForMove() {
      requireStore();
      try {
        const store = await openLocked(path, log);
        return { from: store.bulk!, name: resolve(path), close: () => store.close() };
      } catch (error) {
        if (!(error instanceof AlreadyRunning)) throw error;
      }
      // A running service has the lock: this process reads the files, and the service commits.
      const commit = await findOwnerCommit(await lockFolder(path));
      if (!commit)
        throw new MoveRejected(
          `${path} is in use by a service that cannot be reached here: stop it, and give the command again`,
        );
      return { from: openSnapshot(commit), name: resolve(path), close: async () => {} };
    },
    openForLoad: () => openLocked(path, log),
  };
}

/** Opens a file store and locks it until it is closed. */
async function openLocked(path: string, log: Log): Promise<Store> {
  const lock = await acquireLock(path);
  try {
    const store = await openFileStore({ path: lock.path, log });
    return { ...store, close: () => store.close().finally(lock.release) };
  } catch (error) {
    await lock.release();
    throw error;
  }
}
