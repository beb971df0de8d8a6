/** A shell for the commands of one document: variables carry over to later commands; background programs end with the shell. */
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
  /** Resolves with the first value that `parseLine` returns for an output line; rejects when the program ends first. */
  until<T>(parseLine: (line: string) => T | undefined): Promise<T>;
  stop(): Promise<void>;
}

const processGroups = new Set<number>();
process.once("exit", () => processGroups.forEach((group) => signalGroup(group, "SIGKILL")));

function signalGroup(group: number, name: NodeJS.Signals): void {
  try {
    process.kill(-group, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** A bash process that reads its commands from a pipe, and writes its replies to file descriptor 3. */
export class Shell {
  readonly #child: ChildProcess;
  readonly #replies: AsyncIterator<string>;
  readonly #programs = new Set<Program>();
  #commandCount = 0;

  /** Starts in `folder`; `scriptFolder` is for the files of commands and their outputs. */
  constructor(
    readonly folder: string,
    readonly scriptFolder: string,
    env: Record<string, string>,
  ) {
    // `detached` starts a new session without a terminal; `set -m` gives each job its own process group.
    this.#child = spawn("bash", ["--noprofile", "--norc"], {
      cwd: folder,
      env,
      detached: true,
      stdio: ["pipe", "ignore", "inherit", "pipe"],
    });
    processGroups.add(this.#child.pid!);
    this.#replies = createInterface(this.#child.stdio[3] as NodeJS.ReadableStream as never)[Symbol.asyncIterator]();
    this.#child.stdin!.write("set -m\nlast=0\n");
  }

  /** Runs a command until it ends. */
  async run(command: string): Promise<CommandResult> {
    const { script, output } = this.#writeScript(command);
    // `(exit $last)` sets `$?` to the exit code of the command before, as in a terminal.
    const status = await this.#execute(`(exit $last); . ${script} </dev/null >${output} 2>&1; last=$?; echo $last >&3`);
    return { status: Number(status), output: readFileSync(output, "utf8") };
  }

  /** Starts a command in the background. */
  async start(command: string): Promise<Program> {
    const { script, output } = this.#writeScript(command);
    execFileSync("mkfifo", [output]);
    const outputStream = createReadStream(output, "utf8");
    // `3>&-`: the program does not inherit the descriptor of replies. `disown`: the shell does not report its end.
    const group = Number(await this.#execute(`{ . ${script}; } </dev/null >${output} 2>&1 3>&- & disown; echo $! >&3`));
    processGroups.add(group);
    const program = makeProgram(createInterface(outputStream), command, async () => {
      signalGroup(group, "SIGTERM");
      // The pipe closes when every process of the group has ended.
      if (!outputStream.closed) await once(outputStream, "close");
      processGroups.delete(group);
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
    processGroups.delete(this.#child.pid!);
  }

  #writeScript(command: string): { script: string; output: string } {
    const script = join(this.scriptFolder, `command_${++this.#commandCount}`);
    writeFileSync(script, `${command}\n`);
    return { script, output: `${script}.out` };
  }

  /** Executes a line, and returns the line that it writes to file descriptor 3. */
  async #execute(line: string): Promise<string> {
    this.#child.stdin!.write(`${line}\n`);
    const { value, done } = await this.#replies.next();
    if (done) throw new Error("the shell ended");
    return value;
  }
}

function makeProgram(output: Interface, command: string, stop: () => Promise<void>): Program {
  const lines: string[] = [];
  const ended = once(output, "close");
  output.on("line", (line) => lines.push(line));
  return {
    lines,
    stop,
    until: (parseLine) =>
      new Promise((resolve, reject) => {
        const tryLine = (line: string): void => {
          const value = parseLine(line);
          if (value === undefined) return;
          output.off("line", tryLine);
          resolve(value);
        };
        lines.forEach(tryLine);
        output.on("line", tryLine);
        void ended.then(() => reject(new Error(`${command}\nended:\n${lines.join("\n")}`)));
      }),
  };
}
