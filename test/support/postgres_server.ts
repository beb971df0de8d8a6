/** A real Postgres server for one test file, from an npm package. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { Pool } from "pg";
import { freePort } from "./free_port.ts";
import { type PostgresPrograms, postgresPrograms } from "./postgres_programs.ts";

/** A running server with an empty database. */
export interface PostgresServer {
  url: string;
  /** Connections for the test itself. */
  pool: Pool;
  /** Stops the server immediately (SIGQUIT), so that it recovers as after a crash, and starts it again. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** The benchmark has 64 clients and five services with ten connections each: more than the default limit of 100. */
const CONNECTIONS = "max_connections=200";
const SETTINGS = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "shared_buffers=16MB", CONNECTIONS];
/** Far longer than `initdb` takes, so that only a hanging program is ended. */
const INITDB_LIMIT_MS = 60_000;
/** Not the environment of this process, which may configure another Postgres or another language. */
const ENV = { PATH: process.env["PATH"], LC_ALL: "C" };

/** Starts a server; where it cannot, prints the reason and returns undefined. */
export async function startPostgres(): Promise<PostgresServer | undefined> {
  let folder: string | undefined;
  try {
    const programs = await postgresPrograms();
    folder = await mkdtemp(join(programs.base, "countersign-postgres-"));
    return await startIn(folder, programs);
  } catch (error) {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    process.stderr.write(`Postgres is not tested here: ${(error as Error).message.slice(0, 2000)}\n`);
    return undefined;
  }
}

/** Locks the head of a store, as a transaction does; returns a function that releases the lock. */
export async function lockHead(pool: Pool, store: string): Promise<() => Promise<void>> {
  const client = await pool.connect();
  await client.query("begin");
  await client.query("select from countersign_heads where store = $1 for update", [store]);
  return async () => {
    await client.query("rollback");
    client.release();
  };
}

async function startIn(folder: string, { initdb, postgres, user }: PostgresPrograms): Promise<PostgresServer> {
  const data = join(folder, "data");
  const options = { ...user, cwd: "/", env: ENV };
  await writeFile(join(folder, "password"), "password");
  // This process is root, and the server runs as another user.
  if (user.uid !== undefined) for (const path of [folder, join(folder, "password")]) await chown(path, user.uid, -1);
  const flags = [`--pgdata=${data}`, "--username=postgres", "--auth=password", `--pwfile=${join(folder, "password")}`];
  const withTimeout = { ...options, timeout: INITDB_LIMIT_MS };
  await promisify(execFile)(initdb, [...flags, "--encoding=UTF8", "--locale=C", "--no-sync"], withTimeout);

  const port = await freePort();
  const args = ["-D", data, "-p", String(port), ...SETTINGS.flatMap((setting) => ["-c", setting])];
  const start = () => waitUntilReady(spawn(postgres, args, { ...options, stdio: ["ignore", "ignore", "pipe"] }));
  let server = await start();
  const stopWith = async (signal: NodeJS.Signals) => {
    const ended = once(server, "exit");
    server.kill(signal);
    await ended;
  };
  const atExit = () => void server.kill("SIGQUIT");
  process.once("exit", atExit);

  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`;
  const pool = new Pool({ connectionString: url });
  // Idle connections end with the server and must not fail the test; a connection in use rejects its query.
  pool.on("error", () => undefined);
  return {
    url,
    pool,
    async crash() {
      await stopWith("SIGQUIT");
      server = await start();
    },
    async stop() {
      process.off("exit", atExit);
      await pool.end();
      await stopWith("SIGINT");
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves when a server is ready; rejects with its output when the server ends earlier or cannot be started. */
function waitUntilReady(server: ChildProcess): Promise<ChildProcess> {
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    createInterface(server.stderr!).on("line", (line) => {
      lines.push(line);
      if (line.includes("ready to accept connections")) resolve(server);
    });
    server.once("error", reject);
    server.once("close", () => reject(new Error(`Postgres ended before it was ready\n${lines.join("\n")}`)));
  });
}
