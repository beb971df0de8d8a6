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

/** 2026-01-02T03:04:05.678Z: what every clock here shows. */
export const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
export const AT = new Date(NOW).toISOString();

/** A signal that never aborts. */
export const calm = new AbortController().signal;

/** Real files without the wait for the disk, for long runs. */
export const unsynced: Files = {
  ...fs,
  open: async (...args) => Object.assign(await fs.open(...args), { sync: async () => undefined }),
};

/** A change as the adapter sees it; `value: undefined` sets nothing. */
export function change(change_id: string, over: Partial<Change> = {}): Change {
  const whole = {
    change_id,
    tenant_id: "t1",
    kind: "config",
    target: "ui.banner",
    value: `value of ${change_id}`,
    ...over,
  } as Change;
  if (whole.value === undefined) delete whole.value;
  return whole;
}

/** An adapter on a file that is not there yet, in a folder of its own. */
export async function bench(over: { path?: string; store?: Store; files?: Files } = {}) {
  const folder = await fs.mkdtemp(join(tmpdir(), "file-adapter-"));
  onTestFinished(() => fs.rm(folder, { recursive: true, force: true }));
  const path = join(folder, over.path ?? "product.json");
  const store = over.store ?? memoryStore();
  const identity = { product_id: "acme-crm", instance_id: "acme-crm@local" };
  const open = (parts: { store?: Store; files?: Files } = {}): ProductAdapter =>
    fileAdapter({ path, store, ...identity, clock: { now: () => NOW }, ...parts });
  const adapter = open(over.files && { files: over.files });
  return {
    folder,
    path,
    store,
    open,
    adapter,
    apply: async (one: Change) => (await adapter.apply(one, calm)).result,
    rollback: async (one: Change) => (await adapter.rollback(one, calm)).result,
    verify: (one: Change) => adapter.verify(one, calm),
    text: () => fs.readFile(path, "utf8"),
    content: async () => JSON.parse(await fs.readFile(path, "utf8")),
    write: (content: unknown) => fs.writeFile(path, typeof content === "string" ? content : JSON.stringify(content)),
  };
}
