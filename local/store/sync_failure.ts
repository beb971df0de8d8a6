/** Failed syncs. */

/** A sync failed: the system may hold in memory what it will never write, and another sync would not say so. */
export class SyncFailed extends Error {
  override readonly name = "SyncFailed";
}

/** Passes the error of a sync on as one that does not pass; to open the folder of one may be tried again. */
export const synced = (done: Promise<void>): Promise<void> =>
  done.catch((error: NodeJS.ErrnoException) => {
    throw error.syscall === "open" ? error : new SyncFailed(error.message, { cause: error });
  });
