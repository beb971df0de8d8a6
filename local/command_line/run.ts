/** Runs one command line from its arguments to its exit code. */
import { CommanderError } from "commander";
import { CountersignError } from "../../lib/client/client.ts";
import type { Environment } from "../secrets.ts";
import { connect, type Connected } from "./connection.ts";
import { errorText, type Exit, exitFor, EXITS, UsageError } from "./exit.ts";
import { type Common, makeProgram } from "./program.ts";
import { PROGRAMS } from "./programs.ts";
import type { Given, Session, Verb } from "./verb.ts";

/** Environment of a run. */
export interface Io extends Omit<Session, keyof Connected | "say"> {
  out(text: string): void;
  err(text: string): void;
}

/** Resolves with the exit code; undefined while another program goes on. */
export async function run(called: readonly string[], io: Io): Promise<number | void> {
  const argv = askedItself(called);
  const other = PROGRAMS[argv[0] ?? ""];
  if (other && Object.hasOwn(PROGRAMS, argv[0]!)) return other.main(argv.slice(1), io.env);
  let exit: Exit = "done";
  const program = makeProgram(async (...called) => void (exit = await perform(called, io)), io);
  try {
    await program.parseAsync(argv.length === 0 ? ["--help"] : argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // commander has said what is wrong already; asked for its help it ends with 0.
    exit = error.exitCode === 0 ? "done" : "usage";
    if (error.code === "commander.unknownOption" && argv[0]!.startsWith("-"))
      io.err("the options of a verb stand behind it: countersign list --json\n");
  }
  return EXITS[exit][0];
}

/** `help` of a verb of two words, or of a program with a help of its own, is for that one to give. */
function askedItself([first, ...rest]: readonly string[]): readonly string[] {
  const others = rest.length > 1 || Object.hasOwn(PROGRAMS, rest[0] ?? "");
  if (first === "help" && others) return [...rest, "--help"];
  return first === undefined ? [] : [first, ...rest];
}

async function perform([verb, given, common]: [Verb, Given, Common], io: Io): Promise<Exit> {
  const answers = new Answers(io.fetch);
  const say = (text: string) => io.err(`${text}\n`);
  try {
    const connected = connect(...callerOf(verb, common, io.env), answers.fetch, (sentence) =>
      say(`countersign: warning: ${sentence}`),
    );
    const { text, json, exit = "done" } = await verb.run({ ...io, ...connected, say }, given);
    const shown = common.json ? (json === undefined ? answers.last : JSON.stringify(json)) : text;
    if (shown !== undefined) io.out(`${shown}\n`);
    return exit;
  } catch (error) {
    if (common.json && error instanceof CountersignError && answers.last !== undefined) io.out(`${answers.last}\n`);
    say(`countersign: ${errorText(error, verb.fields)}`);
    return exitFor(error);
  }
}

/** Returns the credentials that a verb sends: for an agent never the admin token, whatever else this environment holds. */
function callerOf({ asAgent, isLocal, usage }: Verb, common: Common, env: Environment): [Common, Environment] {
  if (isLocal) return [{}, {}];
  if (!asAgent) return [common, env];
  if (common.tokenFile !== undefined)
    throw new UsageError(`${usage} takes an agent's secret (--agent-token-file) and never the admin token`);
  const { SVC_ADMIN_TOKEN: _, SVC_ADMIN_TOKEN_FILE: __, ...own } = env;
  return [common, own];
}

/** Keeps the JSON of the last answer as it came. */
class Answers {
  last: string | undefined;
  constructor(readonly send: Io["fetch"]) {}

  readonly fetch = async (request: Request): Promise<Response> => {
    this.last = undefined;
    const response = await this.send(request);
    if (response.headers.get("content-type")?.startsWith("application/json")) this.last = await response.clone().text();
    return response;
  };
}
