/** Types of the command line's verbs. */
import type { Readable, Writable } from "node:stream";
import type { Environment } from "../secrets.ts";
import type { ServiceConnection } from "./connection.ts";
import type { Exit } from "./exit.ts";
import type { OPERATIONS } from "../../lib/client/generated/operations.ts";

/** Input and output of a verb. */
export interface Session extends ServiceConnection {
  env: Environment;
  /** Width of the terminal; undefined without one. */
  columns: number | undefined;
  fetch(request: Request): Promise<Response>;
  now(): number;
  /** Prints a message to standard error. */
  say(text: string): void;
  /** Asks for confirmation. Errors: without a terminal. */
  confirm(question: string): Promise<boolean>;
  /** Runs a program with this input; resolves with its output. Errors: where it fails. */
  run(program: string, args: readonly string[], input: string): Promise<string>;
  /** Standard input and output, for a verb that uses both itself. */
  input: Readable;
  output: Writable;
  /** Writes a response that is not text to a file, or to standard output. */
  save(response: Response, file: string | undefined): Promise<void>;
}

/** Arguments and options of a call. */
export interface VerbCall {
  /** Arguments by their names in the usage. */
  args: Readonly<Record<string, string>>;
  /** Values of the repeated argument. */
  rest: readonly string[];
  /** Fields of the operation, as in the API. */
  fields: Readonly<Record<string, unknown>>;
  /** The verb's own options. */
  options: Readonly<Record<string, string | boolean | undefined>>;
}

/** Result of a verb; `text` is printed unless `--json` is set. */
export interface Outcome {
  text?: string;
  /** Printed for `--json` in place of the last answer of the service. */
  json?: unknown;
  exit?: Exit;
}

/** One verb. */
export interface Verb {
  /** Such as `audit verify` or `approve <change_id>`; `<x...>` may be repeated. */
  usage: string;
  /** The operation of the API that it calls; its description is the help. */
  operation?: keyof typeof OPERATIONS;
  /** Help that replaces the description of the operation. */
  summary?: string;
  /** The operation's fields that are options: `tenant_id` is `--tenant-id`. */
  fields?: readonly string[];
  /** Other options: flags with a placeholder for their value, and their help. */
  options?: Readonly<Record<string, string>>;
  /** True if its answer is not JSON, so that there is no `--json`. */
  plain?: true;
  /** True if it works on local stores or files, and sends no request. */
  isLocal?: true;
  /** True if it acts for an agent: an admin token is never sent. */
  asAgent?: true;
  run(session: Session, call: VerbCall): Promise<Outcome>;
}
