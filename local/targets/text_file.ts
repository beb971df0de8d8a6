/** Reads and edits the text file of a target system one operation after another; errors name the file. */
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
  keepByteOrderMark?: boolean;
  files: Files;
  clock: Clock;
}

/** Creates access to a file; every operation reads it again. */
export function openTextFile({ path: pathOption, noun, keepByteOrderMark = false, files, clock }: TextFileOptions) {
  const path = resolve(pathOption);
  let last: Promise<unknown> = Promise.resolve();
  const runInOrder = <T>(operation: () => Promise<T>, signal?: AbortSignal): Promise<T> => {
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

  // Leftovers are removed once; a failure does not fail the edit.
  let removal: Promise<void> | undefined;
  const removeLeftoversOnce = (): Promise<void> =>
    (removal ??= removeLeftovers(files, path, clock.now()).catch(() => undefined));

  return {
    /** Reads the text, `undefined` where there is no file. */
    read: <T>(use: (text: string | undefined) => T, signal?: AbortSignal): Promise<T> =>
      runInOrder(async () => use(await readText(files, path, keepByteOrderMark)), signal),

    /** Replaces the text by that of `decide`, which runs again when another program wrote in between. */
    edit: <T>(decide: (text: string | undefined) => Edit<T> | Promise<Edit<T>>, signal: AbortSignal): Promise<T> =>
      runInOrder(async () => {
        for (let tries = 0; tries < MAX_TRIES; tries++) {
          const before = await readText(files, path, keepByteOrderMark);
          const { text, result } = await decide(before);
          if (text === undefined) return result;
          await removeLeftoversOnce();
          signal.throwIfAborted();
          if (await replaceText(files, path, before, text, signal)) return result;
        }
        throw new FileUnusable("was written by another program at every try", "stop that program and try again");
      }, signal),

    /** Throws when the file cannot be written. */
    checkFolder: (): Promise<void> => runInOrder(() => checkFolder(files, path)),

    /** Removes temporary files of a killed process, best effort. */
    removeLeftovers: (): Promise<void> => removeLeftovers(files, path, clock.now()).catch(() => undefined),
  };
}
