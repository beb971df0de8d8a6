/** File stores for tests: in a folder of their own, with a fixed clock, counted ids and a snapshot timer run by hand. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Log } from "../../../lib/kit/platform.ts";
import type { Store } from "../../../lib/store/store.ts";
import { type FileStore, type FileStoreOptions, openFileStore } from "../../../local/store/file_store.ts";
import type { AnyStore } from "../../contract/any_store.ts";

/** One line of a log. */
export interface LogLine {
  level: "info" | "warn" | "error";
  message: string;
  fields: Record<string, unknown> | undefined;
}

/** A log that can be read. */
export function readableLog(): Log & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at = (level: LogLine["level"]) => (message: string, fields?: Record<string, unknown>) =>
    void lines.push({ level, message, fields });
  return { lines, info: at("info"), warn: at("warn"), error: at("error") };
}

/** A file store whose collections have no types. */
export type AnyFileStore = AnyStore & Omit<FileStore, keyof Store> & Pick<FileStore, "expunge" | "inspect" | "faults">;

/** A new folder that goes when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "file-store-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** Opens a store that reads everything from its files; it is closed when the test ends. */
export async function opened(path: string, options: Partial<FileStoreOptions> = {}): Promise<AnyFileStore> {
  let ids = 0;
  const store = await openFileStore({
    path,
    log: readableLog(),
    now: () => Date.UTC(2026, 0, 2),
    newId: () => `store-${++ids}`,
    schedule: () => () => undefined,
    memoryBytes: 0,
    ...options,
  });
  onTestFinished(() => store.close().catch(() => undefined));
  return store;
}
