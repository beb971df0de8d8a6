/**
 * systemctl as far as the operator's manual uses it, for the one unit there: starts what the unit says, with its environment
 * and its credentials, and ends it as systemd would. An ending that is not in good order is an error.
 */
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = process.env["MACHINE"];
const run = join(root, "run");
const pidFile = join(run, "countersign.pid");
const endFile = join(run, "countersign.end");
const log = join(run, "countersign.log");
const port = process.env["SERVICE_PORT"];

const [verb] = process.argv.slice(2);
if (verb === "stop" || verb === "restart") await stop();
if (verb === "start" || verb === "restart" || verb === "enable") await start();

/** The lines of the unit, by their name; what the test put in place of paths stands there already. */
function unit() {
  const values = {};
  for (const line of readFileSync(join(root, "etc/systemd/system/countersign.service"), "utf8").split("\n")) {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    if (name) (values[name] ??= []).push(value);
  }
  return values;
}

async function start() {
  const { ExecStart, Environment, LoadCredential, StateDirectory, UMask } = unit();
  const [credentials, state] = [join(run, "credentials"), join(root, "var/lib")];
  mkdirSync(credentials, { recursive: true, mode: 0o700 });
  mkdirSync(join(state, StateDirectory[0]), { recursive: true, mode: 0o700 });
  for (const [name, path] of LoadCredential.map((line) => line.split(":"))) copyFileSync(path, join(credentials, name));
  const env = { PATH: process.env["PATH"], SVC_PORT: port };
  for (const line of Environment) {
    const [, name, value] = /^(\w+)=(.*)$/.exec(line);
    env[name] = value.replaceAll("%d", credentials).replaceAll("%S", state);
  }
  process.umask(Number.parseInt(UMask[0], 8));
  rmSync(endFile, { force: true });
  // Another process asks later how the service ended: a waiting shell writes that down.
  const guard = `"$@" & echo $! >"$PID_FILE.new"; mv "$PID_FILE.new" "$PID_FILE"; wait $!; echo $? >"$END_FILE"`;
  const output = openSync(log, "a");
  spawn("bash", ["-c", guard, "guard", ExecStart[0]], {
    cwd: state,
    env: { ...env, PID_FILE: pidFile, END_FILE: endFile },
    stdio: ["ignore", output, output],
    detached: true,
  }).unref();
  await until(async () => {
    if (existsSync(endFile)) throw new Error(`it ended:\n${readFileSync(log, "utf8")}`);
    return fetch(`http://127.0.0.1:${port}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
}

async function stop() {
  process.kill(Number(readFileSync(pidFile, "utf8")), "SIGTERM");
  await until(() => existsSync(endFile) && readFileSync(endFile, "utf8").trim() !== "");
  rmSync(pidFile);
  const code = readFileSync(endFile, "utf8").trim();
  if (code !== "0") throw new Error(`it ended with exit code ${code}:\n${readFileSync(log, "utf8")}`);
}

/** Looks again and again, for half a minute at most: another process is waited for. */
async function until(look) {
  for (const ends = Date.now() + 30_000; !(await look()); await new Promise((resolve) => setTimeout(resolve, 20)))
    if (Date.now() > ends) throw new Error("nothing came of it in half a minute");
}
