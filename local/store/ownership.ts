/**
 * One process writes to a journal. A lock says so; but a lock can be taken away, and a file put in another's place. So the file
 * itself tells: whoever opens it makes it longer, and before and after each batch its writer sees whether it is as it left it.
 */
import { StoreUnavailable } from "../../lib/store/store.ts";
import { type Files, readAt } from "./files.ts";
import { contentEnd, type Segment } from "./segment.ts";

const SHOWN =
  "another process writes to it, or its files were replaced; only one may run, and this one writes nothing more";

/** The journal is not the file that this process opened, as it left it. */
export class NotOurs extends StoreUnavailable {
  constructor(path: string, reason: string) {
    const remedy = "Another process writes to it, or it was replaced. Stop all that use it, and start one.";
    super(`${path} ${reason}. ${remedy}`, { shown: SHOWN });
  }
}

/** Throws `NotOurs` where another file stands at `path`, or the file has another length than this process gave it. */
export function requireUntouched(files: Files, path: string, { inode, reserved }: Segment): void {
  const seen = files.seen(path);
  if (!seen) throw new NotOurs(path, "is gone");
  if (seen.inode !== inode) throw new NotOurs(path, "is another file than the one that was opened");
  if (seen.size !== reserved) throw new NotOurs(path, `has ${seen.size} bytes, and was left with ${reserved}`);
}

/** As `requireUntouched`, and nothing may stand where the next line will. */
export function requireFree(files: Files, path: string, segment: Segment): void {
  requireUntouched(files, path, segment);
  const { fd, bytes, reserved } = segment;
  if (bytes < reserved && readAt(files, fd, 1, bytes)[0] !== 0)
    throw new NotOurs(path, `has something at byte ${bytes} that this process did not write`);
}

/**
 * Makes the journal this process's own, after it was read: whoever else has it open finds another length from now on, and writes
 * nothing more. Errors: `NotOurs` where somebody wrote to it meanwhile.
 */
export async function takeOver(files: Files, path: string, segment: Segment): Promise<void> {
  await files.lengthen(path);
  segment.reserved = await files.size(segment.fd);
  requireUntouched(files, path, segment);
  if (contentEnd(files, segment.fd, segment.reserved) !== segment.bytes)
    throw new NotOurs(path, "was written to while it was read");
}
