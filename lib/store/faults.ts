/** Faults of a store that is still running, and its free space. */
export interface StoreFaults {
  /** Reason why writes fail at present; null while they succeed. */
  writes: string | null;
  damaged: readonly DamagedFile[];
  /** The newest records that may be missing, as far as the files show; null if none are. */
  lost: LostRecords | null;
  /** Reason why the last attempt to remove superseded records failed; null if it succeeded. */
  compaction: string | null;
  /** Free space on the store's disk; null if it is not known. */
  free_bytes: number | null;
}

/** Records that a missing file may have contained. */
export interface LostRecords {
  reason: string;
  /** Number of records in each append-only collection when the missing file was noticed. */
  left: Readonly<Record<string, number>>;
}

/** A file of the store that is missing, replaced or modified. */
export interface DamagedFile {
  /** File name without folder. */
  file: string;
  /** The fault and its remedy, with the path of the file. */
  reason: string;
  /** The content that depends on this file. */
  holds: string;
}
