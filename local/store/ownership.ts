/**
 * One process writes to a journal. A lock says so; but a lock can be taken away, and a file put in another's place. So the file
 * itself tells: its next owner makes it longer and puts a copy in its place, and before and after each batch its writer sees
 * whether it is as it left it.
 */
import { StoreUnavailable } from "../../lib/store/store.ts";
import { temporaryPath, type Files, readBytes, writeAll } from "./files.ts";
import { contentEnd, type Segment } from "./segment.ts";
import { synced } from "./sync_failure.ts";

const SHOWN =
  "another process writes to it, or its files were removed or replaced; only one may run; before you stop anything, see the service's log";

/** The journal is not the file that this process opened, as it left it. */
export class NotOurs extends StoreUnavailable {
  constructor(path: string, reason: string, remedy: string) {
    super(`${path} ${reason}. ${remedy}`, { shown: SHOWN });
  }
}

const STOP_ALL = "Another process writes to it, or it was changed. Stop all that use it, and start one.";

/** How to save the content of a file that this process still has open, as a command or where to export it. */
export const describeRescue = (fd: number, to: string): string =>
  process.platform === "linux"
    ? `cp /proc/${process.pid}/fd/${fd} '${to}'`
    : "export it, with GET /api/product/export or countersign backup";

/** Throws `NotOurs` where another file stands at `path`, or none; returns the size of the file. */
export function requireSame(files: Files, path: string, { inode, fd }: Segment): number {
  const seen = files.seen(path);
  if (!seen) {
    const remedy = `This process still has it open. Before you stop anything, copy it back: ${describeRescue(fd, path)}. Then restart the service.`;
    throw new NotOurs(path, "is gone", remedy);
  }
  if (seen.inode !== inode) {
    const remedy = `It was replaced, or another process took it over. Before you stop this process, save what it has open: ${describeRescue(fd, `${path}.saved`)}. Then stop all that use it, leave the right file in place, and start one.`;
    throw new NotOurs(path, "is another file than the one that was opened", remedy);
  }
  return seen.size;
}

/** As `requireSame`, and the file has the length that this process gave it. */
export function requireUntouched(files: Files, path: string, segment: Segment): void {
  const size = requireSame(files, path, segment);
  const { reserved } = segment;
  if (size !== reserved) throw new NotOurs(path, `has ${size} bytes, and was left with ${reserved}`, STOP_ALL);
}

/** As `requireUntouched`, and nothing may stand where the next line will. */
export function requireFree(files: Files, path: string, segment: Segment): void {
  requireUntouched(files, path, segment);
  const { fd, bytes, reserved } = segment;
  if (bytes < reserved && readBytes(files, fd, 1, bytes)[0] !== 0)
    throw new NotOurs(path, `has something at byte ${bytes} that this process did not write`, STOP_ALL);
}

/**
 * Makes the journal this process's own, after `bytes` of it were read: its former owner finds another length from now on, and
 * writes nothing more. Errors: `NotOurs` where another process wrote to it meanwhile.
 */
export async function claimJournal(files: Files, path: string, segment: Segment, bytes: number): Promise<void> {
  await files.lengthen(path);
  segment.reserved = await files.size(segment.fd);
  requireUntouched(files, path, segment);
  if (contentEnd(files, segment.fd, segment.reserved) !== bytes)
    throw new NotOurs(path, "was written to while it was read", STOP_ALL);
}

const PIECE = 1 << 20;

/**
 * Puts a durable copy of a journal file in its place, up to its `bytes`: what its former owner writes late lands in the old
 * file, which has no name any more. It also makes durable what a killed process left to the system's memory. The caller
 * syncs the folder and closes the old file.
 */
export async function renewFile(files: Files, path: string, segment: Segment): Promise<Segment> {
  const aside = temporaryPath(path);
  const fd = await files.open(aside, "create");
  try {
    for (let at = 0; at < segment.bytes;) {
      const piece = readBytes(files, segment.fd, Math.min(PIECE, segment.bytes - at), at);
      if (piece.length === 0) throw new Error(`${path} ends at byte ${at}, before its ${segment.bytes} bytes`);
      await writeAll(files, fd, piece, at);
      at += piece.length;
    }
    await synced(files.sync(fd));
    const inode = await files.inode(fd);
    await files.rename(aside, path);
    return { ...segment, fd, inode, reserved: segment.bytes };
  } catch (error) {
    await files.close(fd);
    throw error;
  }
}
