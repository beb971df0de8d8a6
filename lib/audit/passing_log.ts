/** Checks a log that passes by, as records that are copied. */
import { isHeadRecord, LOG_COLLECTION } from "../store/collections.ts";
import type { Version } from "../store/version.ts";
import { type ChainHead, entryKey } from "./chain.ts";
import type { AuditDeps } from "./deps.ts";
import type { AuditEntry } from "./entry.ts";
import type { Link } from "./integrity.ts";
import { BEGINNING, whyInvalid } from "./verify.ts";

/** A log that is being copied. */
export interface PassingLog {
  /** Looks at what is copied. Errors: `LogDoesNotHold`. */
  see(versions: readonly Version[]): void;
  /** Returns the end of the log, after all entries were seen; undefined where none was begun. Errors: `LogDoesNotHold`. */
  end(): ChainHead | undefined;
}

/** The log that is copied is not whole, or was changed. */
export class LogDoesNotHold extends Error {
  override readonly name = "LogDoesNotHold";
}

/** Nothing has passed by yet. */
export function passingLog(sha256: AuditDeps["sha256"]): PassingLog {
  let link: Link = BEGINNING;
  let origin: string | undefined;
  let head: ChainHead | undefined;

  const refuse = (id: number, reason: string): never => {
    throw new LogDoesNotHold(`its log does not hold at entry ${id}: ${reason}`);
  };
  const append = ({ id, json }: Version): void => {
    const entry = json?.value as AuditEntry | undefined;
    origin ??= entry?.origin;
    const next = link.length + 1;
    const reason = id === entryKey(next) ? whyInvalid(entry, link, { origin: origin! }, sha256) : `its id is ${id}`;
    if (reason) refuse(next, reason);
    link = { length: entry!.id, head: entry!.current_hash, at: entry!.timestamp };
  };

  return {
    see(versions) {
      for (const version of versions)
        if (version.collection === LOG_COLLECTION && version.id !== "") append(version);
        else if (isHeadRecord(version)) head = version.json?.value as ChainHead | undefined;
    },
    end() {
      if (!head && link.length > 0) refuse(1, "the record of its end is missing");
      if (head && (head.length !== link.length || head.head !== link.head || (origin ?? head.origin) !== head.origin))
        refuse(link.length, `its end is said to be entry ${head.length}, ${head.head}`);
      return head;
    },
  };
}
