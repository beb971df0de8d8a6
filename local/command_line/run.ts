/** Runs one command line from its arguments to its exit code. */
import { CommanderError } from "commander";
import { CountersignError } from "../../lib/client/client.ts";
import type { Environment } from "../secrets.ts";
import { connect, type ServiceConnection } from "./connection.ts";
import { formatError, type Exit, exitFor, EXITS, UsageError } from "./exit.ts";
import { type Common, makeProgram } from "./program.ts";
import { PROGRAMS } from "./programs.ts";
import type { VerbCall, Session, Verb } from "./verb.ts";

/** Environment of a run. */
export interface Io extends Omit<Session, keyof ServiceConnection | "say"> {
  out(text: string): void;
  err(text: string): void;
}

/** Runs a command line; resolves with the exit code, or with undefined while another program runs on. */
export async function run(args: readonly string[], io: Io): Promise<number | void> {
  const argv = expandHelp(args);
  const otherProgram = PROGRAMS[argv[0] ?? ""];
  if (otherProgram && Object.hasOwn(PROGRAMS, argv[0]!)) return otherProgram.main(argv.slice(1), io.env);
  let exit: Exit = "done";
  const program = makeProgram(async (...call) => void (exit = await runVerb(call, io)), io);
  try {
    await program.parseAsync(argv.length === 0 ? ["--help"] : argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // commander has printed the message already; for help its exit code is 0.
    exit = error.exitCode === 0 ? "done" : "usage";
    if (error.code === "commander.unknownOption" && argv[0]!.startsWith("-"))
      io.err("write the options of a verb after it: countersign list --json\n");
  }
  return EXITS[exit][0];
}

/** Turns `help VERB` into `VERB --help` for verbs of two words and for other programs, which commander's help does not know. */
function expandHelp([first, ...rest]: readonly string[]): readonly string[] {
  const isUnknownToCommander = rest.length > 1 || Object.hasOwn(PROGRAMS, rest[0] ?? "");
  if (first === "help" && isUnknownToCommander) return [...rest, "--help"];
  return first === undefined ? [] : [first, ...rest];
}

async function runVerb([verb, call, common]: [Verb, VerbCall, Common], io: Io): Promise<Exit> {
  const answers = new Answers(io.fetch);
  const say = (text: string) => io.err(`${text}\n`);
  try {
    const connection = connect(...selectCredentials(verb, common, io.env), answers.fetch, (sentence) =>
      say(`countersign: warning: ${sentence}`),
    );
    const { text, json, exit = "done" } = await verb.run({ ...io, ...connection, say }, call);
    const jsonText = json === undefined ? answers.last : JSON.stringify(json);
    const output = common.json ? jsonText : text;
    if (output !== undefined) io.out(`${output}\n`);
    return exit;
  } catch (error) {
    if (common.json && error instanceof CountersignError && answers.last !== undefined) io.out(`${answers.last}\n`);
    say(`countersign: ${formatError(error, verb.fields)}`);
    return exitFor(error);
  }
}

/** Returns the options and environment for a verb's credentials; for an agent, without the admin token. */
function selectCredentials({ asAgent, isLocal, usage }: Verb, common: Common, env: Environment): [Common, Environment] {
  if (isLocal) return [{}, {}];
  if (!asAgent) return [common, env];
  if (common.tokenFile !== undefined)
    throw new UsageError(`${usage} takes an agent's secret (--agent-token-file) and never the admin token`);
  const { SVC_ADMIN_TOKEN: _, SVC_ADMIN_TOKEN_FILE: __, ...own } = env;
  return [common, own];
}

/** Stores the text of the last answer, if it is JSON. */
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
