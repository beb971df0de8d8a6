/** Errors of failed syncs. */

/** A sync failed. It must not be retried: the system may have dropped the data, and a second sync would succeed without it. */
export class SyncFailed extends Error {
  override readonly name = "SyncFailed";
}

/** Turns the error of a sync into `SyncFailed`; a folder that could not be opened may be tried again. */
export const wrapSyncError = (sync: Promise<void>): Promise<void> =>
  sync.catch((error: NodeJS.ErrnoException) => {
    throw error.syscall === "open" ? error : new SyncFailed(error.message, { cause: error });
  });
