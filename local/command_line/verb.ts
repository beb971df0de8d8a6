/** Types of the command line's verbs. */
import type { Readable, Writable } from "node:stream";
import type { Environment } from "../secrets.ts";
import type { Connected } from "./connection.ts";
import type { Exit } from "./exit.ts";
import type { OPERATIONS } from "../../lib/client/generated/operations.ts";

/** Input and output of a verb. */
export interface Session extends Connected {
  env: Environment;
  /** How wide the terminal is; undefined where there is none. */
  columns: number | undefined;
  fetch(request: Request): Promise<Response>;
  now(): number;
  /** Says something on the way, where it does not get between the output. */
  say(text: string): void;
  /** Asks the person; rejects where nobody can be asked. */
  confirm(question: string): Promise<boolean>;
  /** Runs a program of this machine with this on its input. Resolves with its output; rejects where it fails. */
  run(program: string, args: readonly string[], input: string): Promise<string>;
  /** The standard input and output, for a program that has both to itself. */
  input: Readable;
  output: Writable;
  /** Writes what is no text for a terminal: to a file, or to the output. */
  save(response: Response, file: string | undefined): Promise<void>;
}

/** How a verb was called. */
export interface Given {
  /** The arguments, by their names in the usage; of one that repeats a list. */
  args: Readonly<Record<string, string>>;
  rest: readonly string[];
  /** The fields of the operation, as the API takes them. */
  fields: Readonly<Record<string, unknown>>;
  /** The verb's own options. */
  options: Readonly<Record<string, string | boolean | undefined>>;
}

/** Result of a verb: lines for people, where `--json` does not ask for the answer itself. */
export interface Outcome {
  text?: string;
  /** Printed for `--json` by a verb that sends no request. */
  json?: unknown;
  exit?: Exit;
}

/** One verb. */
export interface Verb {
  /** As `audit verify` or `approve <change_id>`; `<x...>` may be repeated. */
  usage: string;
  /** The operation that it asks for, if it is one; its help says what the API says. */
  operation?: keyof typeof OPERATIONS;
  /** Text of its help, where the operation has another one, or none. */
  summary?: string;
  /** The operation's fields that are options: `tenant_id` is `--tenant-id`. */
  fields?: readonly string[];
  /** Options that are no field: flags with what stands for their value, and their help. */
  options?: Readonly<Record<string, string>>;
  /** Its answer is no JSON, so it takes no `--json`. */
  plain?: true;
  /** It works on stores or files of this machine, and sends no request to a service. */
  isLocal?: true;
  /** It speaks for an agent: an admin token is never handed on. */
  asAgent?: true;
  run(session: Session, given: Given): Promise<Outcome>;
}
