/** Verifies that a signal to npm alone ends the process that npm started, so that port and state are released. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../support/free_port.ts";
import { program, temporaryFolder } from "./server.ts";

const ROOT = join(import.meta.dirname, "../..");
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };
const skipReason =
  process.platform === "win32" ? "signals do not exist here" : spawnSync("npm", ["--version"]).error && "npm is absent";
if (skipReason) process.stdout.write(`signals to npm are not tested: ${skipReason}\n`);

/** Creates a checkout whose scripts run the built program, without building it first. */
async function makeCheckout(): Promise<string> {
  const folder = temporaryFolder();
  const testedScripts = Object.fromEntries(["start", "demo", "dev"].map((name) => [name, scripts[name]!]));
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name: "checkout", type: "module", scripts: testedScripts }),
  );
  for (const name of ["local", "handlers", "lib", ".ci", "node_modules", "tsconfig.json"])
    symlinkSync(join(ROOT, name), join(folder, name));
  mkdirSync(join(folder, "data"));
  symlinkSync(dirname(dirname(await program())), join(folder, "dist"));
  return folder;
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });

test.skipIf(skipReason).each(["SIGTERM", "SIGINT"] as const)(
  "%s to npm start alone ends the service, and the port is free",
  async (signal) => {
    const port = await freePort();
    const cwd = await makeCheckout();
    const args = ["start", "--silent", "--", "--port", String(port)];
    // A process group of its own, so that only npm gets the signal.
    const npm = spawn("npm", args, { cwd, detached: true, stdio: ["ignore", "ignore", "pipe"] });
    onTestFinished(() => {
      try {
        process.kill(-npm.pid!, "SIGKILL");
      } catch {
        // The process group has ended.
      }
    });
    for await (const line of createInterface(npm.stderr)) if (line.includes('"message":"listening"')) break;
    npm.stderr.resume();
    expect(await isOpen(port)).toBe(true);
    npm.kill(signal);
    await once(npm, "exit");
    await expect.poll(() => isOpen(port), { timeout: 15_000 }).toBe(false);
  },
  60_000,
);

test("each script of a long-running program runs in the process that npm signals", () => {
  for (const name of ["start", "demo", "dev"]) expect(scripts[name], name).toMatch(/^exec node /);
});
