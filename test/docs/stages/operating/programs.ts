/** Starts programs in the foreground; they end with the test process at the latest. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** A running program. */
export interface RunningProgram {
  stop(): Promise<void>;
}

/** Starts a program and waits for an output line that matches `serves`. Rejects with all output if the program ends before. */
export async function startProgram(
  command: string,
  args: readonly string[],
  serves: RegExp,
  env: Record<string, string> = {},
): Promise<RunningProgram> {
  const child = spawn(command, args, { env: { PATH: process.env["PATH"], ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const atExit = () => void child.kill("SIGKILL");
  process.once("exit", atExit);
  const closed = once(child, "close");
  const output: string[] = [];
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface(stream).on("line", (line) => {
        output.push(line);
        if (serves.test(line)) resolve();
      });
    child.once("error", reject);
    void closed.then(() => reject(new Error(`${command} ended\n${output.join("\n")}`)));
  });
  return {
    async stop() {
      process.off("exit", atExit);
      child.kill("SIGTERM");
      await closed;
    },
  };
}
