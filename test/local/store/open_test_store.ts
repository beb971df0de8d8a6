/** File stores for tests: with a fixed clock, counted ids and no timer for snapshots. */
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

/** Returns a log that stores its lines. */
export function readableLog(): Log & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const addLine = (level: LogLine["level"]) => (message: string, fields?: Record<string, unknown>) =>
    void lines.push({ level, message, fields });
  return { lines, info: addLine("info"), warn: addLine("warn"), error: addLine("error") };
}

/** A file store whose collections have no types. `Store` declares the picked members as optional; a file store has them. */
export type AnyFileStore = AnyStore & Omit<FileStore, keyof Store> & Pick<FileStore, "expunge" | "inspect" | "faults">;

/** Creates a folder that is removed when the test ends. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "file-store-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** Opens a store that caches nothing in memory; it is closed when the test ends. */
export async function openTestStore(path: string, options: Partial<FileStoreOptions> = {}): Promise<AnyFileStore> {
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
