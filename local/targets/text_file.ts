/** A text file that a target system lies in: reads and edits are serialised, and errors name the file. */
import { resolve } from "node:path";
import type { Clock } from "../../lib/kit/platform.ts";
import { checkFolder, type Files, readText, replaceText } from "./atomic_file.ts";
import { describeFileError, FileUnusable } from "./file_error.ts";
import { removeLeftovers } from "./leftovers.ts";

/** Tries of an edit when another program writes the file in between. */
const MAX_TRIES = 5;

/** The result of an edit: a new text, or none where the file stays as it is. */
export interface Edit<T> {
  text?: string;
  result: T;
}

/** The file at a path; `noun` names it in errors. */
export interface TextFileOptions {
  path: string;
  noun: string;
  /** A byte order mark is part of the text, and not skipped. */
  keepMark?: boolean;
  files: Files;
  clock: Clock;
}

/** Opens nothing: every operation reads the file again. */
export function textFile({ path: given, noun, keepMark = false, files, clock }: TextFileOptions) {
  const path = resolve(given);
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(operation: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
    const run = async () => {
      try {
        signal?.throwIfAborted();
        return await operation();
      } catch (error) {
        throw describeFileError(error, noun, path, signal);
      }
    };
    const result = last.then(run);
    last = result.catch(() => undefined);
    return result;
  };

  // Leftovers are removed once, and are no reason to fail an edit.
  let tidied: Promise<void> | undefined;
  const tidy = (): Promise<void> => (tidied ??= removeLeftovers(files, path, clock.now()).catch(() => undefined));

  return {
    /** Reads the text, `undefined` where there is no file. */
    read: <T>(use: (text: string | undefined) => T, signal?: AbortSignal): Promise<T> =>
      inTurn(async () => use(await readText(files, path, keepMark)), signal),

    /** Replaces the text by what `decide` makes of it; `decide` runs again when another program wrote in between. */
    edit: <T>(decide: (text: string | undefined) => Edit<T> | Promise<Edit<T>>, signal: AbortSignal): Promise<T> =>
      inTurn(async () => {
        for (let tries = 0; tries < MAX_TRIES; tries++) {
          const before = await readText(files, path, keepMark);
          const { text, result } = await decide(before);
          if (text === undefined) return result;
          await tidy();
          signal.throwIfAborted();
          if (await replaceText(files, path, before, text, signal)) return result;
        }
        throw new FileUnusable("was written by another program at every try", "stop that program and try again");
      }, signal),

    /** Throws when the file cannot be written. */
    checkFolder: (): Promise<void> => inTurn(() => checkFolder(files, path)),

    /** Removes what a killed process left alongside the file. */
    removeLeftovers: (): Promise<void> => removeLeftovers(files, path, clock.now()).catch(() => undefined),
  };
}
