/** Opens the store that `--state` names: a file that only this process may use, or a database that several share. */
import { stat } from "node:fs/promises";
import type { Log } from "../lib/kit/platform.ts";
import { databaseAddress } from "../lib/store/postgres/errors.ts";
import type { Store } from "../lib/store/store.ts";
import { prefixErrors } from "./prefix_errors.ts";
import { acquireLock } from "./lock.ts";
import { createOwnerCommands } from "./moving/owner_commands.ts";
import { isDatabase } from "./option_values.ts";
import { openFileStore } from "./store/file_store.ts";
import { retryWhileBusy } from "./retry_while_busy.ts";

/** Returns the value of `--state` for messages, without a password. */
export const formatStateName = (state: string): string => (isDatabase(state) ? databaseAddress(state) : state);

/** Name of the store in a database without `--store-name`. */
export const DEFAULT_STORE_NAME = "countersign";

/** Opens a store; `name` is that of a store in a database. Errors: sentences for people; everything is closed then. */
export const openStore = (
  state: string,
  log: Log,
  name = DEFAULT_STORE_NAME,
  onReadOnly?: () => void,
): Promise<Store> => (isDatabase(state) ? openDatabase(state, log, name) : openFile(state, log, onReadOnly));

/** Opens a file store and locks it. `onReadOnly` is called when the store accepts no more writes until a restart. */
export async function openFile(state: string, log: Log, onReadOnly?: () => void): Promise<Store> {
  // Only the owner of the lock can write, so it also serves the commands that move the store.
  const ownerCommands = createOwnerCommands();
  if ((await stat(state).catch(() => undefined))?.isDirectory())
    throw new Error(`--state ${state} is a folder: name a file in it`);
  const lock = await acquireLock(state, undefined, ownerCommands.accept).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall !== "mkdir") throw error;
    throw new Error(`--state ${state}: the folder cannot be created: ${error.message}`, { cause: error });
  });
  try {
    const store = await prefixErrors(`--state ${state}`, openFileStore({ path: lock.path, log, onReadOnly }));
    ownerCommands.open(store.bulk!);
    return { ...store, close: () => ownerCommands.close().then(store.close).finally(lock.release) };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function openDatabase(url: string, log: Log, name: string): Promise<Store> {
  hideArgument(url, "ui_server");
  const { postgresStore } = await import("../lib/store/postgres/store.ts").catch(explainMissingDriver);
  return prefixErrors(
    "--state",
    retryWhileBusy(() => postgresStore({ url, name, log }), log),
  );
}

/** Throws an error that says how to install the driver of Postgres, an optional package. Rethrows any other error. */
export function explainMissingDriver(error: NodeJS.ErrnoException, user = "--state postgres://…"): never {
  if (error.code !== "ERR_MODULE_NOT_FOUND" || !error.message.includes("'pg'")) throw error;
  throw new Error(`${user} needs the driver of Postgres in addition to this package: npm install pg`, { cause: error });
}

/** Hides a secret argument from the list of processes, by setting the title of this process. */
export function hideArgument(url: string, title: string): void {
  if (process.argv.some((argument) => argument.includes(url))) process.title = title;
}
