/** The built-in adapter: a JSON config file that the host product reads or watches. */
import * as nodeFiles from "node:fs/promises";
import { resolve } from "node:path";
import type { Clock } from "../lib/kit/platform.ts";
import type { AdapterResult, ProductAdapter, Validation } from "../lib/changes/operations/adapter_port.ts";
import type { Change } from "../lib/changes/rules/change.ts";
import type { Store } from "../lib/store/store.ts";
import { checkFolder, type Files, readText, replaceText } from "./file_adapter/atomic_file.ts";
import { type Config, ConfigBroken, parseConfig, renderConfig } from "./file_adapter/config_file.ts";
import { fault } from "./file_adapter/fault.ts";
import { prune, setsValue, storedHistory } from "./file_adapter/history.ts";
import { removeLeftovers } from "./file_adapter/leftovers.ts";
import { apply, held, refusal, rollback, verify } from "./file_adapter/operations.ts";

const TRIES = 5;

/** Where the file lies, and what the adapter works with. */
export interface FileAdapterOptions {
  /** The config file; a missing folder is made by the first write. */
  path: string;
  /** Keeps what was before each change, in the collection `adapter`. */
  store: Store;
  product_id: string;
  instance_id: string;
  clock: Clock;
  /** The file system; Node's own when absent. */
  files?: Files;
}

/** What apply would set, for a dry run. `before` is `null` where nothing is present. */
export interface Preview {
  path: [tenant_id: string, target: string];
  before: unknown;
  after: unknown;
  present_before: boolean;
}

/**
 * Writes approved changes to one JSON file. Every operation reads the file anew, and operations take turns. What was
 * before a change is durable before the file shows the change, so a crash between the two loses nothing: the file says
 * what was done, and `verify` repeats it.
 */
export function fileAdapter(options: FileAdapterOptions): ProductAdapter {
  const { store, product_id, instance_id, clock, files = nodeFiles } = options;
  const path = resolve(options.path);
  const history = storedHistory(store);

  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(signal: AbortSignal, operation: () => Promise<T>): Promise<T> => {
    const run = async () => {
      try {
        signal.throwIfAborted();
        return await operation();
      } catch (error) {
        throw fault(error, path, signal);
      }
    };
    const result = last.then(run);
    last = result.catch(() => undefined);
    return result;
  };

  // A drift check reads the same text a hundred times over; what only looks may share one parsed copy.
  let seen: { text: string | undefined; config: Config } | undefined;
  const look = async (): Promise<Config> => {
    const text = await readText(files, path);
    if (seen === undefined || seen.text !== text) seen = { text, config: parseConfig(text) };
    return seen.config;
  };

  // Tidying up is once enough, and no reason to refuse a change.
  let tidied: Promise<void> | undefined;
  const tidy = (): Promise<void> => (tidied ??= removeLeftovers(files, path, clock.now()).catch(() => undefined));

  const anotherProduct = (config: Config) => config.product_id !== undefined && config.product_id !== product_id;
  const ours = (config: Config): Config => {
    if (anotherProduct(config)) throw new ConfigBroken(`belongs to another product than ${product_id}`);
    return config;
  };

  const write = (operation: typeof apply, change: Change, signal: AbortSignal): Promise<AdapterResult> =>
    inTurn(signal, async () => {
      for (let tries = 0; tries < TRIES; tries++) {
        const text = await readText(files, path);
        const config = ours(parseConfig(text));
        const updated_at = new Date(clock.now()).toISOString();
        const { state, records, ...done } = await operation(config, change, updated_at, history);
        if (state === undefined) return done;
        const pruned = prune(config.changes);
        await tidy();
        signal.throwIfAborted();
        await history.keep([...records, ...pruned]);
        const next = renderConfig(config, { product_id, instance_id, change_id: change.change_id, state, updated_at });
        if (await replaceText(files, path, text, next, signal)) return done;
      }
      throw new ConfigBroken("was written by another program at every try", "stop that program and try again");
    });

  return {
    name: "file",

    validate: (change, signal) =>
      inTurn(signal, async (): Promise<Validation> => {
        const reason = refusal(change);
        if (reason !== undefined) return { ok: false, reason };
        const config = await look();
        if (anotherProduct(config))
          return { ok: false, reason: `the product config file belongs to another product than ${product_id}` };
        await checkFolder(files, path);
        const { key, present, value = null } = held(config, change);
        const preview: Preview = {
          path: [change.tenant_id, key],
          before: structuredClone(value),
          after: setsValue(change) ? change.value : value,
          present_before: present,
        };
        return { ok: true, preview };
      }),

    apply: (change, signal) => write(apply, change, signal),

    verify: (change, signal) => inTurn(signal, async () => verify(ours(await look()), change, history)),

    held: (change, signal) =>
      inTurn(signal, async () => {
        const { present, value } = held(ours(await look()), change);
        return present ? { value: structuredClone(value) } : null;
      }),

    rollback: (change, signal, told) =>
      write((config, one, at) => rollback(config, one, at, history, told), change, signal),

    async findProblem() {
      try {
        ours(await look());
        await checkFolder(files, path);
        return null;
      } catch (error) {
        return (fault(error, path) as Error).message;
      }
    },

    forget: (change, signal) =>
      inTurn(signal, async () => {
        await history.forget(change.change_id);
        await removeLeftovers(files, path, clock.now()).catch(() => undefined);
      }),
  };
}
