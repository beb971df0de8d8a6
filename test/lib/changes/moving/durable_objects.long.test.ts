/** Moves by export files into a Durable Object, from there into another one, and out again. */
import { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readHead } from "../../../../lib/audit/chain.ts";
import { exportContents } from "../../../../lib/changes/contents_export.ts";
import { joinChunks } from "../../../support/join_chunks.ts";
import { exportStore } from "../../../../lib/changes/moving/export_store.ts";
import { importStore } from "../../../../lib/changes/moving/import_store.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { splitLines } from "../../../../lib/store/move/lines.ts";
import { testClock } from "../../../support/clock.ts";
import { service } from "../../../support/service.ts";
import { bundleWorker } from "../../../support/worker/build.ts";

let workerd: Miniflare;
beforeAll(async () => {
  workerd = new Miniflare({
    modules: true,
    script: await bundleWorker("test/support/worker/moving_worker.ts"),
    compatibilityDate: "2026-04-01",
    durableObjects: { OBJECTS: { className: "Product", useSQLite: true } },
  });
});
afterAll(() => workerd.dispose());

/** Sends an action to a Durable Object; returns the text of the response. */
async function post(object: string, action: string, body?: string): Promise<string> {
  const response = await workerd.dispatchFetch(`http://worker/${object}/${action}`, {
    method: "POST",
    body: body ?? "",
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

test("moves in, between and out preserve the log, and the source of a move rejects writes", async () => {
  const api = await service({ clock: testClock(new Date().toISOString()) });
  const { store } = api.deps;
  for (let count = 0; count < 30; count++) await api.propose();
  // A deleted record: a move must not use its revisions again.
  for (let count = 0; count < 5; count++) await store.transact((tx) => tx.put("review_due", "late", true));
  await store.transact((tx) => tx.delete("review_due", "late"));
  const { length, head, origin } = (await readHead(store))!;
  const contents = await joinChunks(exportContents(store));
  let file = "";
  for await (const chunk of exportStore({ from: store.bulk!, name: "memory" }, { kind: "export", to: "the file" }))
    file += chunk;

  expect(JSON.parse(await post("one", "import", file))).toMatchObject({ length, head, origin });
  await expect(post("one", "import", file)).rejects.toThrow(`is not empty: it has the log ${origin}`);
  // `write` puts the same record, and returns its revision.
  expect(Number(await post("one", "write"))).toBeGreaterThan(5);
  const backup = await post("one", "backup");
  expect(Number(await post("one", "write"))).toBeGreaterThan(6);
  // A backup can only be restored.
  await expect(post("two", "import", backup)).rejects.toThrow("countersign restore");
  const next = await post("one", "export");
  await expect(post("one", "write")).rejects.toThrow(
    /StoreUnavailable: the store takes no writes: it moved to the file at /,
  );

  await expect(post("two", "import", `${next.slice(0, -200)}\n`)).rejects.toThrow("MoveRejected");
  // The answer has the log as it was moved, before the entry of this move.
  expect(JSON.parse(await post("two", "import", next))).toMatchObject({ length: length + 1, origin });
  const exported = await post("two", "export");
  const to = memoryStore();
  const lines = () => splitLines(new Blob([exported]).stream());
  await importStore({ name: "the file", lines }, "import", { to, name: "memory" });
  // One entry for each of the three moves.
  expect(await readHead(to)).toMatchObject({ length: length + 3, origin });
  expect((await joinChunks(exportContents(to))).startsWith(contents)).toBe(true);
});
