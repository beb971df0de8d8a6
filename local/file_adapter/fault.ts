/** Errors for people: which file, what is wrong, what to do. They name no folder and quote no value. */
import { basename } from "node:path";
import { ConfigBroken } from "./config_file.ts";

/** The product config file could not be read or written. */
export class ConfigFileError extends Error {
  override readonly name = "ConfigFileError";
}

const SYSTEM: Record<string, [what: string, remedy: string]> = {
  EACCES: ["permission is denied", "let the service's user read the file and write its folder"],
  EPERM: ["permission is denied", "let the service's user read the file and write its folder"],
  EROFS: ["its file system is read-only", "name a file in a folder that can be written"],
  ENOTDIR: ["a part of its path is a file, not a folder", "name a file in a folder"],
  EEXIST: ["a part of its path is a file, not a folder", "name a file in a folder"],
  EISDIR: ["it is a folder", "name a file"],
  ELOOP: ["its links lead in a circle", "mend the links"],
  ENAMETOOLONG: ["its name is too long", "name a shorter one"],
  ENOSPC: ["the disk is full", "make room and try again"],
  EDQUOT: ["the disk quota is used up", "make room and try again"],
  ERR_ENCODING_INVALID_ENCODED_DATA: ["it is not UTF-8 text", "correct it or move it away"],
};

/** The error to throw in place of `error`; one that has nothing to do with the file is passed through. */
export function fault(error: unknown, path: string, signal?: AbortSignal): unknown {
  const name = `product config file ${JSON.stringify(basename(path))}`;
  if (signal?.aborted && error === signal.reason)
    return new ConfigFileError(`${name}: stopped before it was replaced; try again`, { cause: error });
  if (error instanceof ConfigBroken)
    return new ConfigFileError(`${name} ${error.message}, and was left as it is; ${error.remedy}`);
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (typeof code !== "string" || !/^E[A-Z_]+$/.test(code)) return error;
  const [what, remedy] = SYSTEM[code] ?? ["the system refused", "see that its folder and disk are sound"];
  return new ConfigFileError(`${name} cannot be used: ${what} (${code}); ${remedy}`, { cause: error });
}
