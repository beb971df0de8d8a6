/** Tests a process after a failed sync of the journal: it ends by itself only with --exit-when-read-only. */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { killAll, serve, temporaryFolder } from "./server.ts";

afterAll(killAll);

const INTENT = join(import.meta.dirname, "../../local/example/product_intent.json");

/** Makes each fdatasync fail while the file at the path in `FAILING_SYNCS` exists. */
const PRELOAD = `
  import fs from "node:fs";
  import { syncBuiltinESMExports } from "node:module";
  const { fdatasync } = fs;
  fs.fdatasync = (fd, callback) =>
    fs.existsSync(process.env.FAILING_SYNCS)
      ? callback(Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO", syscall: "fdatasync" }))
      : fdatasync(fd, callback);
  syncBuiltinESMExports();`;

async function startWithFailingSync(cwd: string, ...args: string[]) {
  const env = {
    FAILING_SYNCS: join(cwd, "failing"),
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(PRELOAD)}`,
  };
  const server = await serve(cwd, ["--state=data/state.json", "--product-intent=intent.json", ...args], env);
  const propose = async (target: string): Promise<number> => {
    const body = new URLSearchParams({ tenant_id: "t1", kind: "workflow", target, summary: "A step", value: "true" });
    return (await fetch(`${server.url}/api/product/propose`, { method: "POST", body })).status;
  };
  return { ...server, propose };
}

function makeFolder(): string {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, "data"));
  copyFileSync(INTENT, join(cwd, "intent.json"));
  return cwd;
}

test("a failed sync ends the process with 1 under --exit-when-read-only 1, otherwise reads go on", async () => {
  const folders = [makeFolder(), makeFolder()] as const;
  const [ending, staying] = await Promise.all([
    startWithFailingSync(folders[0], "--exit-when-read-only=1"),
    startWithFailingSync(folders[1], "--exit-when-read-only=0"),
  ]);
  for (const [index, service] of [ending, staying].entries()) {
    expect(await service.propose("crm.first")).toBe(201);
    writeFileSync(join(folders[index]!, "failing"), "");
    // A write of the service itself may fail first and end the process before the response.
    await service.propose("crm.second").catch(() => undefined);
  }
  expect(await ending.ended).toEqual({ code: 1, signal: null });
  expect(await ending.logged("stopping")).toMatchObject({ reason: "the store takes no writes until a restart" });
  expect(await staying.propose("crm.third")).toBe(503);
  expect((await fetch(`${staying.url}/api/product/audit`)).status).toBe(200);
  expect(staying.child.exitCode).toBeNull();
}, 60_000);
