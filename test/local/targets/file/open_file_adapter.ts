/** The adapter for config files, and changes for it, as the tests of this folder use them. */
import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { ProductAdapter } from "../../../../lib/changes/operations/adapter_port.ts";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import type { Store } from "../../../../lib/store/store.ts";
import type { Files } from "../../../../local/targets/atomic_file.ts";
import { fileAdapter } from "../../../../local/targets/file.ts";

/** 2026-01-02T03:04:05.678Z, the time of the adapter's clock. */
export const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
export const NOW_ISO = new Date(NOW).toISOString();

/** A signal that never aborts. */
export const neverAborted = new AbortController().signal;

/** Real files that are not synced, for long runs. */
export const unsyncedFiles: Files = {
  ...fs,
  open: async (...args) => Object.assign(await fs.open(...args), { sync: async () => undefined }),
};

/** Returns a change as the adapter gets it; `value: undefined` sets nothing. */
export function change(change_id: string, overrides: Partial<Change> = {}): Change {
  const complete = {
    change_id,
    tenant_id: "t1",
    kind: "config",
    target: "ui.banner",
    value: `value of ${change_id}`,
    ...overrides,
  } as Change;
  if (complete.value === undefined) delete complete.value;
  return complete;
}

/** Opens an adapter on a file that does not exist yet, in a folder of its own. */
export async function openFileAdapter(overrides: { path?: string; store?: Store; files?: Files } = {}) {
  const folder = await fs.mkdtemp(join(tmpdir(), "file-adapter-"));
  onTestFinished(() => fs.rm(folder, { recursive: true, force: true }));
  const path = join(folder, overrides.path ?? "product.json");
  const store = overrides.store ?? memoryStore();
  const identity = { product_id: "acme-crm", instance_id: "acme-crm@local" };
  const open = (parts: { store?: Store; files?: Files } = {}): ProductAdapter =>
    fileAdapter({ path, store, ...identity, clock: { now: () => NOW }, ...parts });
  const adapter = open(overrides.files && { files: overrides.files });
  return {
    folder,
    path,
    store,
    open,
    adapter,
    apply: async (proposed: Change) => (await adapter.apply(proposed, neverAborted)).result,
    rollback: async (proposed: Change) => (await adapter.rollback(proposed, neverAborted)).result,
    verify: (proposed: Change) => adapter.verify(proposed, neverAborted),
    text: () => fs.readFile(path, "utf8"),
    content: async () => JSON.parse(await fs.readFile(path, "utf8")),
    write: (content: unknown) => fs.writeFile(path, typeof content === "string" ? content : JSON.stringify(content)),
  };
}
