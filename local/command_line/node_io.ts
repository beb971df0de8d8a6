/** Input and output of the program: this process, its terminal, and other programs. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { text } from "node:stream/consumers";
import { NotDone, UsageError } from "./exit.ts";
import type { Io } from "./run.ts";

const { stdin, stdout, stderr } = process;

/** Input and output on this machine. */
export const nodeIo: Io = {
  env: process.env,
  columns: stdout.isTTY ? stdout.columns : undefined,
  input: stdin,
  output: stdout,
  now: Date.now,
  fetch: (request) => fetch(request),
  out: (text) => void stdout.write(text),
  err: (text) => void stderr.write(text),
  confirm,
  run: runProgram,
  save,
};

/** Asks on standard error, so that standard output has only the answer. */
async function confirm(question: string): Promise<boolean> {
  if (!stdin.isTTY) throw new UsageError("a confirmation needs a terminal: run it in one, or with --yes");
  const prompt = createInterface({ input: stdin, output: stderr });
  const answer = await prompt.question(`${question} [y/N] `);
  prompt.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** Runs a program that signs (`ssh-keygen`), whose errors and questions go to the terminal; returns its output. */
async function runProgram(program: string, args: readonly string[], input: string): Promise<string> {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  // A program may end before it has read its input; then its exit code or `error` event is reported.
  child.stdin.on("error", () => {}).end(input);
  const output = text(child.stdout);
  const [code] = (await once(child, "close").catch((error: NodeJS.ErrnoException) => {
    throw new NotDone(
      error.code === "ENOENT" ? `${program} was not found: install OpenSSH` : `${program}: ${error.message}`,
    );
  })) as [number | null];
  if (code !== 0) throw new NotDone(`${program} did not sign; its message is above`);
  return output;
}

/** Writes the body of an answer to a file, or to standard output, which stays open. */
async function save({ body }: Response, file: string | undefined): Promise<void> {
  const from = Readable.fromWeb(body as never);
  const written = file === undefined ? pipeline(from, stdout, { end: false }) : pipeline(from, createWriteStream(file));
  await written.catch((error: NodeJS.ErrnoException) => {
    // An error of the file system already names the file and the operation.
    if (error.syscall !== undefined) throw error;
    throw new NotDone(`the connection broke: ${file ?? "the output"} has only the beginning of the answer`);
  });
}
