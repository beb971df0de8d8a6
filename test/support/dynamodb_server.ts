/** A DynamoDB emulator with real transactions, as a process for one test file. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import { createInterface } from "node:readline";
import type { DynamoDbAccess } from "../../lib/store/dynamodb/client.ts";

/** A running emulator. */
export interface DynamoDbServer {
  url: string;
  /** How to reach a table in it, made or not. */
  access(table: string): DynamoDbAccess;
  stop(): Promise<void>;
}

/** Starts one; when there is no binary for this platform, says so and gives nothing. */
export async function startDynamoDb(): Promise<DynamoDbServer | undefined> {
  const binary = findBinary();
  if (binary === undefined) {
    process.stderr.write(`DynamoDB is not tested here: no emulator for ${process.platform} ${process.arch}\n`);
    return undefined;
  }
  const port = await freePort();
  const child = spawn(binary, ["--port", String(port)], { stdio: ["ignore", "pipe", "pipe"] });
  await new Promise<void>((resolve, reject) => {
    for (const output of [child.stdout, child.stderr])
      createInterface(output).on("line", (line) => line.includes("listening") && resolve());
    child.once("exit", () => reject(new Error("the emulator ended before it listened")));
  });
  const url = `http://127.0.0.1:${port}`;
  const credentials = { accessKeyId: "test", secretAccessKey: "test" };
  return {
    url,
    access: (table) => ({ table, region: "eu-central-1", credentials, endpoint: url }),
    async stop() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

function findBinary(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve("@dynoxide/linux-x64/package.json");
    const binary = manifest.replace(/package\.json$/, "dynoxide");
    return existsSync(binary) && process.platform === "linux" && process.arch === "x64" ? binary : undefined;
  } catch {
    return undefined;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
