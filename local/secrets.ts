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
export function secretIn(env: Environment, name: string): string | undefined {
  const [value, path] = [env[name] || undefined, env[`${name}_FILE`] || undefined];
  if (path === undefined) return value && refuseQuotes(value, name);
  if (value !== undefined) throw new OptionError(`${name} and ${name}_FILE exclude each other`, 1);
  return contentOf(path, `${name}_FILE`);
}

/** A file's text without the line end that editors leave. */
export function contentOf(path: string, name: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch (error) {
    throw new OptionError(`${name} ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`, 1);
  }
  for (const line of text.split(/\r?\n/)) refuseQuotes(line, `${name} ${path}`);
  return text;
}

/** Returns a secret; one in quotation marks was written for a shell, which would have taken them away. */
function refuseQuotes(secret: string, source: string): string {
  if (/^(["'])[^]*\1$/.test(secret.trim()))
    throw new OptionError(`${source}: the secret is in quotation marks; remove them`, 1);
  return secret;
}
