/** Opens the store that `--state` names: a file that this process alone owns, or a database that several share. */
import type { Log } from "../lib/kit/platform.ts";
import { databaseAddress } from "../lib/store/postgres/errors.ts";
import type { Store } from "../lib/store/store.ts";
import { about } from "./about.ts";
import { acquireLock } from "./lock.ts";
import { newDoor } from "./moving/owner_door.ts";
import { isDatabase } from "./option_values.ts";
import { openFileStore } from "./store/file_store.ts";
import { whileBusy } from "./while_busy.ts";

/** Returns the value of `--state` for messages: never with a password. */
export const stateName = (state: string): string => (isDatabase(state) ? databaseAddress(state) : state);

/** The store in a database that `--store-name` leaves out. */
export const STORE = "countersign";

/** Opens it, of a database the store of this name; rejects with an error for people, and has then let go of everything. */
export const openStore = (state: string, log: Log, name = STORE, onReadOnly?: () => void): Promise<Store> =>
  isDatabase(state) ? openDatabase(state, log, name) : openFile(state, log, onReadOnly);

/** A file that this process alone owns until it is closed. `onReadOnly`: only a restart makes it take writes again. */
export async function openFile(state: string, log: Log, onReadOnly?: () => void): Promise<Store> {
  const door = newDoor();
  const lock = await acquireLock(state, undefined, door.enter);
  try {
    const store = await about(`--state ${state}`, openFileStore({ path: lock.path, log, onReadOnly }));
    door.open(store.whole!);
    return { ...store, close: () => door.close().then(store.close).finally(lock.release) };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function openDatabase(url: string, log: Log, name: string): Promise<Store> {
  hideArgument(url, "ui_server");
  const { postgresStore } = await import("../lib/store/postgres/store.ts").catch(withoutDriver);
  return about(
    "--state",
    whileBusy(() => postgresStore({ url, name, log }), log),
  );
}

/** Explains how to install the driver of Postgres, an optional package. Rethrows any other error. */
export function withoutDriver(error: NodeJS.ErrnoException, user = "--state postgres://…"): never {
  if (error.code !== "ERR_MODULE_NOT_FOUND" || !error.message.includes("'pg'")) throw error;
  throw new Error(`${user} needs the driver of Postgres in addition to this package: npm install pg`, { cause: error });
}

/** The process list shows arguments to everybody on the machine; setting the title replaces them all. */
export function hideArgument(url: string, title: string): void {
  if (process.argv.some((argument) => argument.includes(url))) process.title = title;
}
