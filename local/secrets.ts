/** Secrets that a program is given: by a variable, or by the file that a variable names. */
import { readFileSync } from "node:fs";

/** The environment of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A refusal to start: one line for people, and the exit code. 2: unknown or malformed; 1: not allowed like this. */
export class OptionError extends Error {
  override readonly name = "OptionError";
  constructor(
    message: string,
    readonly exitCode: 1 | 2,
  ) {
    super(message);
  }
}

/** The value of a variable, or what the file holds that the variable of its name and `_FILE` names. */
export function readSecret(env: Environment, name: string): string | undefined {
  const [value, path] = [env[name] || undefined, env[`${name}_FILE`] || undefined];
  if (path === undefined) return value && secretFrom(value, name);
  if (value !== undefined) throw new OptionError(`${name} and ${name}_FILE exclude each other`, 1);
  return secretInFile(path, `${name}_FILE`);
}

/** Reads the secret that a file holds; `name` is the option or variable that names the file. */
export const secretInFile = (path: string, name: string): string =>
  secretFrom(readSecretFile(path, name), `${name} ${path}`);

/** A file's text without the line end that editors leave. */
export function readSecretFile(path: string, name: string): string {
  try {
    return readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    throw new OptionError(`${name} ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, 1);
  }
}

function secretFrom(text: string, source: string): string {
  const problem = findSecretProblem(text);
  if (problem) throw new OptionError(`${source} ${problem}`, 1);
  return text;
}

/** The ways in which a secret is written for a shell, an env file or an editor, and not as it is sent. */
const SECRET_PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/^\uFEFF/, "must not begin with a byte order mark; save the file as UTF-8 without one"],
  [/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u, "must be one line without control or invisible characters; remove them"],
  [/^\s|\s$/, "must not have white space before or after the secret; remove it"],
  // Upper case, and more than padding behind the sign: a secret in base64 may have a sign at its end.
  [/^(export\s|[A-Z_][A-Z0-9_]{2,}=[^=])/, "must be the secret alone; remove the name and the = in front of it"],
  [/^["'`\p{Pi}\p{Pf}„‚]|["'`\p{Pi}\p{Pf}]$/u, "must not be in quotation marks; remove them"],
];

/** Returns the rule that a secret breaks, for people, without repeating the secret. */
export const findSecretProblem = (secret: string): string | undefined =>
  SECRET_PROBLEMS.find(([pattern]) => pattern.test(secret))?.[1];
