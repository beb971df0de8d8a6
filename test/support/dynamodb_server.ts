/** A DynamoDB emulator with real transactions, as a process for one test file. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { DynamoDbAccess } from "../../lib/store/dynamodb/client.ts";
import { emulatorBinary } from "./dynamodb_emulator.ts";
import { freePort } from "./free_port.ts";

/** A running emulator. */
export interface DynamoDbServer {
  url: string;
  /** Returns the connection options of a table, which need not exist yet. */
  access(table: string): DynamoDbAccess;
  stop(): Promise<void>;
}

/** Starts an emulator; where none is available, prints the reason and returns undefined. */
export async function startDynamoDb(): Promise<DynamoDbServer | undefined> {
  const binary = await emulatorBinary().catch((error: Error) => error);
  if (binary instanceof Error) {
    process.stderr.write(`DynamoDB is not tested here: ${binary.message}\n`);
    return undefined;
  }
  const port = await freePort();
  const child = spawn(binary, ["--port", String(port)], { stdio: ["ignore", "pipe", "pipe"] });
  await new Promise<void>((resolve, reject) => {
    for (const output of [child.stdout, child.stderr])
      createInterface(output).on("line", (line) => line.includes("listening") && resolve());
    child.once("error", reject).once("exit", () => reject(new Error("the emulator ended before it listened")));
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
