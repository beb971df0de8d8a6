/** Programs that a manual starts: each runs in the foreground, and ends with the story. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** A program that runs. */
export interface Started {
  stop(): Promise<void>;
}

/** Starts a program, and waits until one of its lines says that it serves. Rejects with all it said when it ends before. */
export async function startProgram(
  command: string,
  args: readonly string[],
  serves: RegExp,
  env: Record<string, string> = {},
): Promise<Started> {
  const child = spawn(command, args, { env: { PATH: process.env["PATH"], ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const atExit = () => void child.kill("SIGKILL");
  process.once("exit", atExit);
  const closed = once(child, "close");
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface(stream).on("line", (line) => {
        said.push(line);
        if (serves.test(line)) resolve();
      });
    child.once("error", reject);
    void closed.then(() => reject(new Error(`${command} ended\n${said.join("\n")}`)));
  });
  return {
    async stop() {
      process.off("exit", atExit);
      child.kill("SIGTERM");
      await closed;
    },
  };
}
