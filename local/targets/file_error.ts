/** Errors of files for people: the file, the problem, the remedy. They name no folder and quote no value. */
import { basename } from "node:path";

/** A file of a target system could not be read or written. */
export class TargetFileError extends Error {
  override readonly name = "TargetFileError";
}

/** The content of a file cannot be used: the message names the problem, and quotes no value. */
export class FileUnusable extends Error {
  override readonly name = "FileUnusable";
  readonly remedy: string;
  constructor(message: string, remedy = "correct it or move it away") {
    super(message);
    this.remedy = remedy;
  }
}

/** Cause and remedy by the error code of Node. */
const SYSTEM: Record<string, [cause: string, remedy: string]> = {
  EACCES: ["permission is denied", "let the service's user read the file and write its folder"],
  EPERM: ["permission is denied", "let the service's user read the file and write its folder"],
  EROFS: ["its file system is read-only", "name a file in a folder that can be written"],
  ENOTDIR: ["a part of its path is a file, not a folder", "name a file in a folder"],
  EEXIST: ["a part of its path is a file, not a folder", "name a file in a folder"],
  EISDIR: ["it is a folder", "name a file"],
  ELOOP: ["its links lead in a circle", "correct the links"],
  ENAMETOOLONG: ["its name is too long", "name a shorter one"],
  ENOSPC: ["the disk is full", "make room and try again"],
  EDQUOT: ["the disk quota is used up", "make room and try again"],
  ERR_ENCODING_INVALID_ENCODED_DATA: ["it is not UTF-8 text", "correct it or move it away"],
};

/** Describes an error of the file at `path`, which `noun` names; other errors are returned unchanged. */
export function describeFileError(error: unknown, noun: string, path: string, signal?: AbortSignal): unknown {
  const name = `${noun} ${JSON.stringify(basename(path))}`;
  if (signal?.aborted && error === signal.reason)
    return new TargetFileError(`${name}: stopped before it was replaced; try again`, { cause: error });
  if (error instanceof FileUnusable)
    return new TargetFileError(`${name} ${error.message}, and was left as it is; ${error.remedy}`);
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (typeof code !== "string" || !/^E[A-Z_]+$/.test(code)) return error;
  const [cause, remedy] = SYSTEM[code] ?? ["the system reports an error", "check its folder and disk"];
  return new TargetFileError(`${name} cannot be used: ${cause} (${code}); ${remedy}`, { cause: error });
}
