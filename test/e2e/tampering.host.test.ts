/** Tests a journal that is edited by hand while the service is stopped. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { TRAILER_BYTES, makeTrailer } from "../../local/store/journal_format.ts";
import { killAll, launch, serve, temporaryFolder } from "./server.ts";

const INTENT = join(import.meta.dirname, "../../local/example/product_intent.json");
const ARGS = ["--port=0", `--product-intent=${INTENT}`, "--state=state.json"];

let cwd: string;
beforeEach(() => {
  cwd = temporaryFolder();
});
afterEach(killAll);

const post = (url: string, name: string, fields: Record<string, string>) =>
  fetch(`${url}/api/product/${name}`, { method: "POST", body: new URLSearchParams(fields) });

/** Makes three proposals, stops the service, and changes the tenant in the second proposal's entry, which is entry 3 of the log. */
async function editJournal(fixesChecksum: boolean): Promise<{ journal: string; offset: number }> {
  const server = await serve(cwd, ARGS);
  for (const tenant_id of ["one", "two", "three"])
    await post(server.url, "propose-crm-followup", { tenant_id, affected_users: "4", expected_delta_k: "1" });
  // A read updates the projections, which are not updated any more once the log is broken.
  expect(await (await fetch(`${server.url}/api/product/runtime`)).json()).toMatchObject({ total: 3 });
  server.child.kill("SIGTERM");
  await server.ended;
  const journal = join(cwd, "state.json.journal.jsonl");
  const lines = (await readFile(journal, "utf8")).split("\n");
  const index = lines.findIndex((line) => line.includes('"audit":[3,'));
  const line = lines[index]!.replace('"tenant":"two"', '"tenant":"twx"');
  expect(line).not.toBe(lines[index]);
  const body = Buffer.from(line).subarray(0, -TRAILER_BYTES);
  lines[index] = fixesChecksum ? body.toString() + makeTrailer(body) : line;
  await writeFile(journal, lines.join("\n"));
  return { journal, offset: Buffer.byteLength(lines.slice(0, index).join("\n")) + 1 };
}

test("a line with a wrong checksum prevents the start, and is reported with file and offset", async () => {
  const { journal, offset } = await editJournal(false);
  const failed = await launch(cwd, ARGS);
  expect(await failed.ended).toEqual({ code: 1, signal: null });
  expect(failed.stderr).toHaveLength(1);
  expect(failed.stderr[0]).toContain(journal.split("/").at(-1));
  expect(failed.stderr[0]).toContain(String(offset));
});

test("start and verify report an edit with a corrected checksum; reads work, writes do not", async () => {
  await editJournal(true);
  const server = await serve(cwd, ARGS);
  expect(await server.logged("audit chain broken")).toMatchObject({ first_invalid: 3 });
  const get = async (path: string) => {
    const response = await fetch(server.url + path);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  expect((await get("/api/product/audit/verify")).body).toMatchObject({ valid: false, first_invalid: 3 });
  expect((await get("/readyz")).status).toBe(503);
  expect((await get("/api/product/runtime")).body).toMatchObject({ total: 3 });
  const rejected = await post(server.url, "propose-crm-followup", {
    tenant_id: "four",
    affected_users: "4",
    expected_delta_k: "1",
  });
  expect([rejected.status, ((await rejected.json()) as { code: string }).code]).toEqual([503, "chain_broken"]);
});
