/**
 * Ensures that only one process writes to a journal, also if its lock file was removed. A new owner lengthens the file and then
 * replaces it by a copy. Before and after each batch, a writer checks that the file has the inode and length that it left.
 */
import { StoreUnavailable } from "../../lib/store/store.ts";
import { temporaryPath, type Files, readBytes, writeAll } from "./files.ts";
import { findContentEnd, type Segment } from "./segment.ts";
import { wrapSyncError } from "./sync_failure.ts";

const CLIENT_MESSAGE =
  "another process writes to it, or its files were removed or replaced; only one may run; before you stop anything, see the service's log";

/** The journal is not the file that this process opened, or has another length. */
export class OwnershipLost extends StoreUnavailable {
  constructor(path: string, reason: string, remedy: string) {
    super(`${path} ${reason}. ${remedy}`, { shown: CLIENT_MESSAGE });
  }
}

const STOP_ALL = "Another process writes to it, or it was changed. Stop all that use it, and start one.";

/** Returns advice on how to save a removed file that this process still has open. */
export const describeRescue = (fd: number, to: string): string =>
  process.platform === "linux"
    ? `cp /proc/${process.pid}/fd/${fd} '${to}'`
    : "export it, with GET /api/product/export or countersign backup";

/** Returns the size of the file at `path`. Errors: `OwnershipLost` if it is missing or another file. */
export function requireSame(files: Files, path: string, { inode, fd }: Segment): number {
  const stats = files.stat(path);
  if (!stats) {
    const remedy = `This process still has it open. Before you stop anything, copy it back: ${describeRescue(fd, path)}. Then restart the service.`;
    throw new OwnershipLost(path, "is gone", remedy);
  }
  if (stats.inode !== inode) {
    const remedy = `It was replaced, or another process took it over. Before you stop this process, save what it has open: ${describeRescue(fd, `${path}.saved`)}. Then stop all that use it, leave the right file in place, and start one.`;
    throw new OwnershipLost(path, "is another file than the one that was opened", remedy);
  }
  return stats.size;
}

/** As `requireSame`, and requires the length that this process gave the file. */
export function requireUntouched(files: Files, path: string, segment: Segment): void {
  const size = requireSame(files, path, segment);
  const { reserved } = segment;
  if (size !== reserved) throw new OwnershipLost(path, `has ${size} bytes, and was left with ${reserved}`, STOP_ALL);
}

/** As `requireUntouched`, and requires that nothing was written where the next line begins. */
export function requireFree(files: Files, path: string, segment: Segment): void {
  requireUntouched(files, path, segment);
  const { fd, bytes, reserved } = segment;
  if (bytes < reserved && readBytes(files, fd, 1, bytes)[0] !== 0)
    throw new OwnershipLost(path, `has something at byte ${bytes} that this process did not write`, STOP_ALL);
}

/**
 * Makes this process the owner of the journal after it read `bytes`: the former owner finds another length and stops writing.
 * Errors: `OwnershipLost` where another process wrote to it meanwhile.
 */
export async function claimJournal(files: Files, path: string, segment: Segment, bytes: number): Promise<void> {
  await files.lengthen(path);
  segment.reserved = await files.size(segment.fd);
  requireUntouched(files, path, segment);
  if (findContentEnd(files, segment.fd, segment.reserved) !== bytes)
    throw new OwnershipLost(path, "was written to while it was read", STOP_ALL);
}

const COPY_BYTES = 1 << 20;

/**
 * Replaces a journal file by a durable copy of its `bytes`: late writes of the former owner go to the old file, which has no name
 * any more. The copy also makes data durable that a killed process left in the system's cache. The caller syncs the folder and
 * closes the old file.
 */
export async function renewFile(files: Files, path: string, segment: Segment): Promise<Segment> {
  const temporary = temporaryPath(path);
  const fd = await files.open(temporary, "create");
  try {
    for (let at = 0; at < segment.bytes;) {
      const chunk = readBytes(files, segment.fd, Math.min(COPY_BYTES, segment.bytes - at), at);
      if (chunk.length === 0) throw new Error(`${path} ends at byte ${at}, before its ${segment.bytes} bytes`);
      await writeAll(files, fd, chunk, at);
      at += chunk.length;
    }
    await wrapSyncError(files.sync(fd));
    const inode = await files.inode(fd);
    await files.rename(temporary, path);
    return { ...segment, fd, inode, reserved: segment.bytes };
  } catch (error) {
    await files.close(fd);
    throw error;
  }
}
