/** A real Redis server for one test file. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { freePort } from "./free_port.ts";

/** The part of the client that a test uses. */
export interface RedisClient {
  get(key: string): Promise<string | null>;
  set(key: string, text: string, options?: object): Promise<unknown>;
  del(key: string): Promise<number>;
  ttl(key: string): Promise<number>;
  sendCommand(words: readonly string[]): Promise<unknown>;
}

/** A running server, which is empty at its start. */
export interface RedisServer {
  port: number;
  /** A connection for the test itself. */
  client: RedisClient;
  signal(name: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/** Starts a server; where it cannot, prints the reason and returns undefined. */
export async function startRedis(): Promise<RedisServer | undefined> {
  const { error } = spawnSync("redis-server", ["--version"], { stdio: "ignore" });
  if (error) {
    process.stderr.write(`Redis is not tested here: ${error.message}\n`);
    return undefined;
  }
  const folder = await mkdtemp(join(tmpdir(), "countersign-redis-"));
  const port = await freePort();
  const options = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
  const server = spawn("redis-server", options, { stdio: ["ignore", "pipe", "inherit"] });
  const atExit = () => void server.kill("SIGKILL");
  process.once("exit", atExit);
  const lines = createInterface(server.stdout);
  await new Promise<void>((resolve, reject) => {
    lines.on("line", (line) => line.includes("Ready to accept connections") && resolve());
    server.once("close", () => reject(new Error("the Redis server ended before it was ready")));
  });
  // The cast lets the sources compile where this package is not installed.
  const { createClient } = await import("@redis/client" as string);
  const client = await createClient({ url: `redis://127.0.0.1:${port}` }).connect();
  return {
    port,
    client,
    signal: (name) => void server.kill(name),
    async stop() {
      process.off("exit", atExit);
      client.destroy();
      const ended = once(server, "exit");
      server.kill("SIGKILL");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
