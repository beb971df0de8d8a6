/** Faults of a store that goes on as far as it can, and its free space. */
export interface StoreFaults {
  /** Why no write is taken at present; null while writes are taken. */
  writes: string | null;
  damaged: readonly DamagedFile[];
  /** The newest records that may be missing, as the files show; null where they show none. */
  lost: LostRecords | null;
  /** Why superseded records could not be removed when that was tried last; null when they were. */
  compaction: string | null;
  /** Bytes that can still be written where the store lies; null where that is not known. */
  free_bytes: number | null;
}

/** Records that a missing file may have held. */
export interface LostRecords {
  reason: string;
  /** How many records of each append-only collection were left when the file was missed. */
  left: Readonly<Record<string, number>>;
}

/** A file of the store that is missing, replaced or not as it was written. */
export interface DamagedFile {
  /** Its name, without its folder. */
  file: string;
  /** Its fault and the remedy, with its path. */
  reason: string;
  /** The content that depends on it. */
  holds: string;
}
