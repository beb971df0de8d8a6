/** A shell for the commands of one document: variables carry over to later commands, and background programs end with it. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";

/** The exit code of a command and its output on both streams. */
export interface CommandResult {
  status: number;
  output: string;
}

/** A program in the background. */
export interface Program {
  lines: string[];
  /** Resolves with the first value that `parseLine` returns for an output line; rejects when the program ends before. */
  until<T>(parseLine: (line: string) => T | undefined): Promise<T>;
  stop(): Promise<void>;
}

const groups = new Set<number>();
process.once("exit", () => groups.forEach((group) => signal(group, "SIGKILL")));

function signal(group: number, name: NodeJS.Signals): void {
  try {
    process.kill(-group, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** A running shell. */
export class Shell {
  readonly #child: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  readonly #programs = new Set<Program>();
  #steps = 0;

  /** `scratch` is a folder for the shell's own files. */
  constructor(
    readonly folder: string,
    readonly scratch: string,
    env: Record<string, string>,
  ) {
    // A session of its own, so that each job has its own process group and no program asks a terminal.
    this.#child = spawn("bash", ["--noprofile", "--norc"], {
      cwd: folder,
      env,
      detached: true,
      stdio: ["pipe", "ignore", "inherit", "pipe"],
    });
    groups.add(this.#child.pid!);
    this.#answers = createInterface(this.#child.stdio[3] as NodeJS.ReadableStream as never)[Symbol.asyncIterator]();
    this.#child.stdin!.write("set -m\nlast=0\n");
  }

  /** Runs a command until it ends. */
  async run(command: string): Promise<CommandResult> {
    const { step, output } = this.#step(command);
    const status = await this.#ask(`(exit $last); . ${step} </dev/null >${output} 2>&1; last=$?; echo $last >&3`);
    return { status: Number(status), output: readFileSync(output, "utf8") };
  }

  /** Starts a command in the background. */
  async start(command: string): Promise<Program> {
    const { step, output } = this.#step(command);
    execFileSync("mkfifo", [output]);
    const reading = createReadStream(output, "utf8");
    const group = Number(await this.#ask(`{ . ${step}; } </dev/null >${output} 2>&1 3>&- & disown; echo $! >&3`));
    groups.add(group);
    const program = makeProgram(createInterface(reading), command, async () => {
      signal(group, "SIGTERM");
      if (!reading.closed) await once(reading, "close");
      groups.delete(group);
      this.#programs.delete(program);
    });
    this.#programs.add(program);
    return program;
  }

  /** Ends the background programs and the shell. */
  async close(): Promise<void> {
    await Promise.all([...this.#programs].map((program) => program.stop()));
    this.#child.stdin!.end();
    if (this.#child.exitCode === null) await once(this.#child, "exit");
    groups.delete(this.#child.pid!);
  }

  #step(command: string): { step: string; output: string } {
    const step = join(this.scratch, `step_${++this.#steps}`);
    writeFileSync(step, `${command}\n`);
    return { step, output: `${step}.out` };
  }

  async #ask(line: string): Promise<string> {
    this.#child.stdin!.write(`${line}\n`);
    const { value, done } = await this.#answers.next();
    if (done) throw new Error("the shell ended");
    return value;
  }
}

function makeProgram(reading: Interface, command: string, stop: () => Promise<void>): Program {
  const lines: string[] = [];
  const ended = once(reading, "close");
  reading.on("line", (line) => lines.push(line));
  return {
    lines,
    stop,
    until: (parseLine) =>
      new Promise((resolve, reject) => {
        const found = (line: string): void => {
          const value = parseLine(line);
          if (value === undefined) return;
          reading.off("line", found);
          resolve(value);
        };
        lines.forEach(found);
        reading.on("line", found);
        void ended.then(() => reject(new Error(`${command}\nended:\n${lines.join("\n")}`)));
      }),
  };
}
