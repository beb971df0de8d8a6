#!/usr/bin/env node
/** The local program: reads its options, runs until a stop signal, and says by its exit code how that went. */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Log } from "../lib/kit/platform.ts";
import { checkIntent } from "./intent_file.ts";
import { openLog } from "./logger.ts";
import { type Environment, OptionError, parseOptions, type Task } from "./options.ts";
import { type Running, start } from "./start.ts";

/** npm passes on a signal that the terminal has sent already; so soon after the first it is no second one. */
const SAME_SIGNAL_MS = 1000;

/** Runs the program; the process ends with it. */
export async function main(argv: readonly string[], env: Environment): Promise<void> {
  try {
    const parsed = parseOptions(argv, env);
    if (parsed.kind === "print") return void process.stdout.write(`${parsed.text}\n`);
    if (parsed.kind === "check_intent") return await reportCheck(parsed, env);
    const log = openLog();
    failLoudly(log);
    let end: Ending = () => undefined;
    const started = start(parsed.options, log, () => end("the store takes no writes until a restart", 1));
    end = endingOf(started, log);
    stopOnSignal(end);
    reloadOnSignal(started);
    await started;
  } catch (error) {
    const sentence = error instanceof Error ? error.message : String(error);
    process.stderr.write(`ui_server: ${sentence.replaceAll(/\s*\n\s*/g, " ")}\n`);
    process.exit(error instanceof OptionError ? error.exitCode : 1);
  }
}

/** Prints the check of an intent; the exit code is 1 where a scenario fails. */
async function reportCheck(
  { path, options }: Extract<Task, { kind: "check_intent" }>,
  env: Environment,
): Promise<void> {
  const { text, passed } = await checkIntent(path, options, env);
  process.stdout.write(text);
  if (!passed) process.exitCode = 1;
}

/**
 * Exits after an unexpected error: acknowledged data is durable, so after an error that nobody expected a fresh start is the
 * safest.
 */
function failLoudly(log: Log): void {
  const fail = (error: unknown) => {
    log.error("the service failed and ends", { error });
    process.exit(1);
  };
  process.on("uncaughtException", fail).on("unhandledRejection", fail);
  process.stderr.on("error", () => {}); // a log that nobody reads any more is no failure
}

/** Ends the process in good order, for a reason and with an exit code. */
type Ending = (reason: string, code: 0 | 1) => void;

/** Ends it once, also during the start; what fails meanwhile is logged, and the exit code is 1. */
function endingOf(started: Promise<Running>, log: Log): Ending {
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

/** The first signal stops in good order; a second one ends the process immediately. */
function stopOnSignal(end: Ending): void {
  let first: number | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    if (first !== undefined) return void (Date.now() - first < SAME_SIGNAL_MS || process.exit(1));
    first = Date.now();
    end(signal, 0);
  };
  process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
}

/**
 * SIGHUP reads the intent file again, one signal after another, a start under way first. SIGUSR2 does nothing, and nor does
 * SIGUSR1, for which Node would open its inspector.
 */
function reloadOnSignal(started: Promise<Running>): void {
  let last: Promise<unknown> = Promise.resolve();
  const reload = async (): Promise<void> => (await started).reload();
  // A start that fails says so itself.
  process.on("SIGHUP", () => void (last = last.then(reload).catch(() => undefined)));
  process.on("SIGUSR1", () => {}).on("SIGUSR2", () => {});
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  await main(process.argv.slice(2), process.env);
