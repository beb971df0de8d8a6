/** Tests two services that are witnesses of each other's logs, as processes over loopback. */
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { freePort } from "../support/free_port.ts";
import { keyPair, readNote } from "../support/independent_witness.ts";
import { test, writeIntent, WITH_INTENT } from "./in_folder.ts";
import { type Server, serve } from "./server.ts";

/** Prepares a service with a folder, an intent and a key for cosignatures. */
async function prepareService(cwd: string, name: string) {
  const folder = join(cwd, name);
  await mkdir(folder);
  await writeIntent(folder, "intent.json", { product_id: name });
  // By C2SP's signed-note, 4 is the type of a key for cosignatures, and 1 that of a log's key.
  const witness = keyPair(`${name}.example/witness`, 4);
  await writeFile(join(folder, "audit.pem"), keyPair(name, 1).pem, { mode: 0o600 });
  await writeFile(join(folder, "witness.pem"), witness.pem, { mode: 0o600 });
  const port = await freePort();
  const args = [...WITH_INTENT, `--port=${port}`, "--state=data/state.json", "--audit-key=audit.pem"];
  return { name, folder, witness, url: `http://127.0.0.1:${port}`, args };
}
type PreparedService = Awaited<ReturnType<typeof prepareService>>;

async function stopCleanly(server: Server): Promise<void> {
  server.child.kill("SIGTERM");
  expect(await server.ended).toEqual({ code: 0, signal: null });
}

const readCheckpoint = async ({ url }: { url: string }, query = "") =>
  (await (await fetch(`${url}/api/product/audit/checkpoint${query}`)).json()) as {
    checkpoint: string;
    key: string;
    length: number;
    witnesses: { length: number }[];
  };

async function propose({ url }: PreparedService, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const body = new URLSearchParams({ tenant_id: `t${i}`, affected_users: "4", expected_delta_k: "1" });
    const { status } = await fetch(`${url}/api/product/propose-crm-followup`, { method: "POST", body });
    expect(status).toBe(201);
  }
}

/** Starts a service as the witness of the other's log, and with the other as its witness. */
async function startAsWitness(own: PreparedService, other: PreparedService, logKey: string): Promise<Server> {
  await writeFile(join(own.folder, "logs.txt"), `# the other service\n${logKey}\n`);
  return serve(own.folder, [
    ...own.args,
    `--audit-witness=${other.url}`,
    `--audit-witness-key=${other.witness.vkey}`,
    "--witness-for=logs.txt",
    "--witness-key=witness.pem",
    `--witness-name=${own.witness.name}`,
  ]);
}

const eventually = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 40_000, interval: 200 });
const waitForCosignature = (log: PreparedService, witness: PreparedService) =>
  eventually(async () => {
    const { length } = await readCheckpoint(log);
    const { checkpoint, length: cosigned } = await readCheckpoint(log, "?cosigned=1");
    expect(cosigned).toBe(length);
    expect(readNote(checkpoint, witness.witness.vkey).by).toEqual([{ seconds: expect.any(Number), isValid: true }]);
  });

test(
  "two services cosign each other's logs; a log that is set back is rejected and reported",
  { timeout: 180_000 },
  async ({ cwd }) => {
    const [a, b] = [await prepareService(cwd, "a"), await prepareService(cwd, "b")];
    const keys: string[] = [];
    for (const service of [a, b]) {
      const server = await serve(service.folder, service.args);
      keys.push((await readCheckpoint(service)).key);
      await stopCleanly(server);
    }
    const [keyOfA, keyOfB] = keys as [string, string];
    const first = await startAsWitness(a, b, keyOfB);
    const other = await startAsWitness(b, a, keyOfA);
    expect(await other.logged("watching")).toMatchObject({ logs: [keyOfA.split("+")[0]], key: b.witness.vkey });
    await propose(a, 3);
    await propose(b, 2);
    await waitForCosignature(a, b);
    await waitForCosignature(b, a);
    expect((await fetch(`${a.url}/readyz`)).status).toBe(200);

    await stopCleanly(first);
    await cp(join(a.folder, "data"), join(cwd, "older"), { recursive: true });
    const second = await startAsWitness(a, b, keyOfB);
    await propose(a, 5);
    await waitForCosignature(a, b);
    const { length } = await readCheckpoint(a);
    await stopCleanly(second);
    await rm(join(a.folder, "data"), { recursive: true });
    await cp(join(cwd, "older"), join(a.folder, "data"), { recursive: true });

    const serverOfOlderLog = await startAsWitness(a, b, keyOfB);
    await propose(a, 1);
    expect(await serverOfOlderLog.logged("a witness refuses the log")).toMatchObject({
      witness: b.witness.name,
      problem: expect.stringContaining(`it cosigned ${length} entries of this log`),
    });
    const ready = await fetch(`${a.url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      { checks: { witnesses: { ok: false, reason: expect.stringContaining(b.witness.name) } } },
    ]);
    await propose(a, 10);
    // The second line of a checkpoint is the length of the log.
    expect(await other.logged("a log that is watched does not continue what was cosigned")).toMatchObject({
      cosigned: expect.stringContaining(`\n${length}\n`),
    });
    expect((await fetch(`${b.url}/readyz`)).status, "the witness itself is ready").toBe(200);
    expect((await readCheckpoint(a, "?cosigned=1")).length).toBeLessThan(length);
  },
);
