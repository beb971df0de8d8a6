/** Verifies a log while its records are copied to another store. */
import { isHeadRecord, LOG_COLLECTION } from "../store/collections.ts";
import type { Version } from "../store/version.ts";
import { type ChainHead, entryKey } from "./chain.ts";
import type { AuditDeps } from "./deps.ts";
import type { AuditEntry } from "./entry.ts";
import type { ChainLink } from "./integrity.ts";
import { LOG_START, findEntryProblem } from "./verify.ts";

/** Verification of a log that is being copied. */
export interface CopiedLogCheck {
  /** Checks the next copied records. Errors: `CopiedLogInvalid`. */
  check(versions: readonly Version[]): void;
  /** Returns the end of the log after all records were checked; undefined without a log. Errors: `CopiedLogInvalid`. */
  finish(): ChainHead | undefined;
}

/** The copied log is incomplete, or was changed. */
export class CopiedLogInvalid extends Error {
  override readonly name = "CopiedLogInvalid";
}

/** Creates the check of a log before its first record. */
export function createCopiedLogCheck(sha256: AuditDeps["sha256"]): CopiedLogCheck {
  let link: ChainLink = LOG_START;
  let origin: string | undefined;
  let head: ChainHead | undefined;

  const reject = (id: number, reason: string): never => {
    throw new CopiedLogInvalid(`its log does not hold at entry ${id}: ${reason}`);
  };
  const checkEntry = ({ id, json }: Version): void => {
    const entry = json?.value as AuditEntry | undefined;
    origin ??= entry?.origin;
    const next = link.length + 1;
    const reason =
      id === entryKey(next) ? findEntryProblem(entry, link, { origin: origin! }, sha256) : `its id is ${id}`;
    if (reason) reject(next, reason);
    link = { length: entry!.id, head: entry!.current_hash, at: entry!.timestamp };
  };

  return {
    check(versions) {
      // A version with an empty id is the revision floor of its collection (see `BulkAccess.dump`), and no entry.
      for (const version of versions)
        if (version.collection === LOG_COLLECTION && version.id !== "") checkEntry(version);
        else if (isHeadRecord(version)) head = version.json?.value as ChainHead | undefined;
    },
    finish() {
      if (!head && link.length > 0) reject(1, "the record of its end is missing");
      if (!head) return undefined;
      const hasSameEnd = head.length === link.length && head.head === link.head;
      const hasSameOrigin = origin === undefined || origin === head.origin;
      if (!hasSameEnd || !hasSameOrigin)
        reject(link.length, `its end is said to be entry ${head.length}, ${head.head}`);
      return head;
    },
  };
}
