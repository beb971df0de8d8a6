/** Failures of writes: some may pass, after others nothing is written until a restart. */
import { StoreUnavailable } from "../../lib/store/store.ts";
import { OwnershipLost } from "./ownership.ts";
import { SyncFailed } from "./sync_failure.ts";

/** Writes fail at present. */
export class WriteFailure extends StoreUnavailable {
  /** True when the write is tried again without a restart. */
  readonly isTransient: boolean;
  constructor(message: string, isTransient: boolean, options: { cause: unknown; shown: string | undefined }) {
    super(message, options);
    this.isTransient = isTransient;
  }
}

/** Remedies by the code of a system error, each with a name that may be shown to clients. */
const REMEDIES: Record<string, readonly [shown: string, remedy: string]> = {
  ENOSPC: ["the disk is full", "Free space on the disk."],
  EDQUOT: ["the disk quota is used up", "Free space within the quota, or raise it."],
  EMFILE: ["too many files are open", "Raise the limit of open files (LimitNOFILE, ulimit -n)."],
  ENFILE: ["too many files are open on the machine", "Raise the system's limit of open files (fs.file-max)."],
  EROFS: ["the file system is read-only", "Check the disk, then mount the file system writable."],
  EFBIG: ["a file would become too large", "Raise the limit of file sizes (LimitFSIZE, ulimit -f)."],
};

/** Creates the failure of a write to the journal at `path`, with texts for the log and for clients. */
export function makeWriteFailure(path: string, cause: unknown): WriteFailure {
  const reason = cause instanceof Error ? cause.message : String(cause);
  if (cause instanceof OwnershipLost)
    return new WriteFailure(`${reason} Nothing more is written until then.`, false, { cause, shown: cause.shown });
  const prefix = `${path} cannot be written (${reason})`;
  if (cause instanceof SyncFailed) {
    const message = `${prefix}: the disk may have lost what it confirmed, so nothing more is written until a restart. Check the disk, then restart the service.`;
    return new WriteFailure(message, false, {
      cause: cause.cause,
      shown: "the disk failed to store a write; the service must be restarted",
    });
  }
  const [shown, remedy] = REMEDIES[(cause as NodeJS.ErrnoException).code ?? ""] ?? [undefined, "Check the disk."];
  const message = `${prefix}: writes are refused and tried again until they succeed. ${remedy}`;
  return new WriteFailure(message, true, { cause, shown });
}
