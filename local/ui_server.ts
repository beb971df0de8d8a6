#!/usr/bin/env node
/** The local program: reads its options, runs until a stop signal, and exits with a code. */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Log } from "../lib/kit/platform.ts";
import { checkIntent } from "./intent_file.ts";
import { openLog } from "./logger.ts";
import { type Environment, OptionError, parseOptions, type Task } from "./options.ts";
import { type RunningProgram, start } from "./start.ts";

/** npm repeats a signal that the terminal has sent already: within this time it counts as the same signal. */
const SAME_SIGNAL_MS = 1000;

/** Runs the program until the process ends. */
export async function main(argv: readonly string[], env: Environment): Promise<void> {
  try {
    const parsed = parseOptions(argv, env);
    if (parsed.kind === "print") return void process.stdout.write(`${parsed.text}\n`);
    if (parsed.kind === "check_intent") return await reportCheck(parsed, env);
    const log = openLog();
    exitOnUnexpectedError(log);
    let end: EndProgram = () => undefined;
    const started = start(parsed.options, log, () => end("the store takes no writes until a restart", 1));
    end = createEnd(started, log);
    stopOnSignal(end);
    reloadOnSignal(started);
    await started;
  } catch (error) {
    const sentence = error instanceof Error ? error.message : String(error);
    process.stderr.write(`ui_server: ${sentence.replaceAll(/\s*\n\s*/g, " ")}\n`);
    process.exit(error instanceof OptionError ? error.exitCode : 1);
  }
}

/** Prints the check of an intent; the exit code is 1 if a scenario fails. */
async function reportCheck(
  { path, options }: Extract<Task, { kind: "check_intent" }>,
  env: Environment,
): Promise<void> {
  const { text, passed } = await checkIntent(path, options, env);
  process.stdout.write(text);
  if (!passed) process.exitCode = 1;
}

/**
 * Exits after an unexpected error. Acknowledged data is durable, so a new start is the safest.
 */
function exitOnUnexpectedError(log: Log): void {
  const fail = (error: unknown) => {
    log.error("the service failed and ends", { error });
    process.exit(1);
  };
  process.on("uncaughtException", fail).on("unhandledRejection", fail);
  process.stderr.on("error", () => {}); // a closed log is not a failure
}

/** Stops the program in order; the process then ends with an exit code. */
type EndProgram = (reason: string, code: 0 | 1) => void;

/** Creates a function that stops the program once, also during its start; after a failure the exit code is 1. */
function createEnd(started: Promise<RunningProgram>, log: Log): EndProgram {
  let isEnding = false;
  const end = async (reason: string, code: 0 | 1): Promise<void> => {
    if (isEnding) return;
    isEnding = true;
    log.info("stopping", { reason });
    const running = await started.catch(() => undefined);
    if (!running) return; // the start has failed, and says so itself
    try {
      await running.stop();
      process.exit(code);
    } catch (error) {
      log.error("stopping failed", { error });
      process.exit(1);
    }
  };
  return (reason, code) => void end(reason, code);
}

/** Stops in order at the first signal; a second one ends the process immediately. */
function stopOnSignal(end: EndProgram): void {
  let firstAt: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    if (firstAt !== undefined) {
      if (Date.now() - firstAt >= SAME_SIGNAL_MS) process.exit(1);
      return;
    }
    firstAt = Date.now();
    end(signal, 0);
  };
  process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
}

/**
 * Loads the intent file again at each SIGHUP, after the start and one signal after another. SIGUSR1, for which Node would open its
 * inspector, and SIGUSR2 do nothing.
 */
function reloadOnSignal(started: Promise<RunningProgram>): void {
  let last: Promise<unknown> = Promise.resolve();
  const reload = async (): Promise<void> => (await started).reload();
  // A failed start reports itself.
  process.on("SIGHUP", () => void (last = last.then(reload).catch(() => undefined)));
  process.on("SIGUSR1", () => {}).on("SIGUSR2", () => {});
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  await main(process.argv.slice(2), process.env);
