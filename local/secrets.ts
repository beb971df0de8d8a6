/** Reads secrets from environment variables, or from files that variables name. */
import { readFileSync } from "node:fs";

/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** An option that prevents the start: one line for people, and the exit code. 2: unknown or malformed; 1: not allowed. */
export class OptionError extends Error {
  override readonly name = "OptionError";
  constructor(
    message: string,
    readonly exitCode: 1 | 2,
  ) {
    super(message);
  }
}

/** Reads a secret from the variable `name`, or from the file that the variable `name_FILE` names; an empty variable is unset. */
export function readSecret(env: Environment, name: string): string | undefined {
  const [value, path] = [env[name] || undefined, env[`${name}_FILE`] || undefined];
  if (path === undefined) return value && requireValidSecret(value, name);
  if (value !== undefined) throw new OptionError(`${name} and ${name}_FILE exclude each other`, 1);
  const secret = readSecretFromFile(path, `${name}_FILE`);
  if (secret === "") throw new OptionError(`${name}_FILE ${path} is empty`, 1);
  return secret;
}

/** Reads and checks a secret from a file; `name` is the option or variable that names the file. */
export const readSecretFromFile = (path: string, name: string): string =>
  requireValidSecret(readSecretFile(path, name), `${name} ${path}`);

/** Reads a file without the line end that editors add, and without checking the secret in it. */
export function readSecretFile(path: string, name: string): string {
  try {
    return readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    throw new OptionError(`${name} ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, 1);
  }
}

function requireValidSecret(text: string, source: string): string {
  const problem = findSecretProblem(text);
  if (problem) throw new OptionError(`${source} ${problem}`, 1);
  return text;
}

/** Faults of secrets: text that a shell, an env file or an editor adds, and that is not part of the secret. */
const SECRET_PROBLEMS: readonly (readonly [pattern: RegExp, problem: string])[] = [
  [/^\uFEFF/, "must not begin with a byte order mark; save the file as UTF-8 without one"],
  [/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, "must be one line without control or invisible characters; remove them"],
  [/^\s|\s$/, "must not have white space before or after the secret; remove it"],
  // A secret in base64 may end with = as well, so upper case and text behind the sign are required.
  [/^(export\s|[A-Z_][A-Z0-9_]{2,}=[^=])/, "must be the secret alone; remove the name and the = in front of it"],
  [/^["'`\p{Pi}\p{Pf}„‚]|["'`\p{Pi}\p{Pf}]$/u, "must not be in quotation marks; remove them"],
];

/** Returns the rule that a secret breaks, for people, without repeating the secret. */
export const findSecretProblem = (secret: string): string | undefined =>
  SECRET_PROBLEMS.find(([pattern]) => pattern.test(secret))?.[1];
