/**
 * A program in place of `systemctl` for the unit of the operator's manual: `start`, `stop`, `restart` and `enable`. It starts
 * the unit's command with its environment and credentials, and fails if the command ends with another exit code than 0.
 */
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Folder in place of the root of the operator's machine. */
const root = process.env["MACHINE"];
const run = join(root, "run");
const pidFile = join(run, "countersign.pid");
const endFile = join(run, "countersign.end");
const log = join(run, "countersign.log");
const port = process.env["SERVICE_PORT"];

const [verb] = process.argv.slice(2);
if (verb === "stop" || verb === "restart") await stop();
if (verb === "start" || verb === "restart" || verb === "enable") await start();

/** Returns the values of the unit by name; a name may have several values. */
function parseUnit() {
  const values = {};
  for (const line of readFileSync(join(root, "etc/systemd/system/countersign.service"), "utf8").split("\n")) {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name) (values[name] ??= []).push(value);
  }
  return values;
}

async function start() {
  const { ExecStart, Environment, LoadCredential, StateDirectory, UMask } = parseUnit();
  const [credentials, state] = [join(run, "credentials"), join(root, "var/lib")];
  mkdirSync(credentials, { recursive: true, mode: 0o700 });
  mkdirSync(join(state, StateDirectory[0]), { recursive: true, mode: 0o700 });
  for (const [name, path] of LoadCredential.map((line) => line.split(":"))) copyFileSync(path, join(credentials, name));
  const env = { PATH: process.env["PATH"], SVC_PORT: port };
  for (const line of Environment) {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line);
    // Specifiers of systemd: the folders of the credentials and of states.
    env[name] = value.replaceAll("%d", credentials).replaceAll("%S", state);
  }
  process.umask(Number.parseInt(UMask[0], 8));
  rmSync(endFile, { force: true });
  // The call of this program that stops the service is another process, so a waiting shell stores the service's exit code in a file.
  const shellCommand = `"$@" & echo $! >"$PID_FILE.new"; mv "$PID_FILE.new" "$PID_FILE"; wait $!; echo $? >"$END_FILE"`;
  const output = openSync(log, "a");
  spawn("bash", ["-c", shellCommand, "bash", ExecStart[0]], {
    cwd: state,
    env: { ...env, PID_FILE: pidFile, END_FILE: endFile },
    stdio: ["ignore", output, output],
    detached: true,
  }).unref();
  await waitUntil(async () => {
    if (existsSync(endFile)) throw new Error(`the service ended:\n${readFileSync(log, "utf8")}`);
    return fetch(`http://127.0.0.1:${port}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
}

async function stop() {
  process.kill(Number(readFileSync(pidFile, "utf8")), "SIGTERM");
  await waitUntil(() => existsSync(endFile) && readFileSync(endFile, "utf8").trim() !== "");
  rmSync(pidFile);
  const code = readFileSync(endFile, "utf8").trim();
  if (code !== "0") throw new Error(`the service ended with exit code ${code}:\n${readFileSync(log, "utf8")}`);
}

/** Waits until a condition is true, at most 30 seconds. */
async function waitUntil(isTrue) {
  const deadline = Date.now() + 30_000;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error("the service did not start or stop within 30 seconds");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
