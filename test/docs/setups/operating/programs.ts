/** Starts programs in the foreground; they end with the test process at the latest. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface RunningProgram {
  stop(): Promise<void>;
}

/** Starts a program and waits for an output line that matches `readyLine`. Rejects with all output if the program ends first. */
export async function startProgram(
  command: string,
  args: readonly string[],
  readyLine: RegExp,
  env: Record<string, string> = {},
): Promise<RunningProgram> {
  const child = spawn(command, args, { env: { PATH: process.env["PATH"], ...env }, stdio: ["ignore", "pipe", "pipe"] });
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  const closed = once(child, "close");
  const output: string[] = [];
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      createInterface(stream).on("line", (line) => {
        output.push(line);
        if (readyLine.test(line)) resolve();
      });
    child.once("error", reject);
    void closed.then(() => reject(new Error(`${command} ended\n${output.join("\n")}`)));
  });
  return {
    async stop() {
      process.off("exit", kill);
      child.kill("SIGTERM");
      await closed;
    },
  };
}
