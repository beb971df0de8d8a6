/** Pages of records whose size nobody knows beforehand: read in slices, ended by a number or by what an answer may hold. */

/** A page ends with the record that reaches this many bytes of JSON, wherever its limit is. */
export const PAGE_BYTES = 1024 * 1024;

/** A row that is looked at, with the bytes of its text. */
interface Row {
  size: number;
}

/** Rows to gather. `read` gives the next rows, fewer than asked for at the end only. */
export interface GatherOptions<R extends Row> {
  /** Rows that are wanted, at most. */
  limit: number;
  /** Rows that are looked at, at most. */
  looked: number;
  read(after: R | undefined, count: number): Promise<R[]>;
  wanted?: ((row: R) => boolean) | undefined;
}

const FIRST_READ_ROWS = 100;
const MAX_READ_ROWS = 1000;

/** The rows that are wanted, and the last that was looked at; `ended` when there are none behind it. */
export async function gather<R extends Row>({
  limit,
  looked,
  read,
  wanted = () => true,
}: GatherOptions<R>): Promise<{ rows: R[]; last: R | undefined; ended: boolean }> {
  const rows: R[] = [];
  let last: R | undefined;
  let bytes = 0;
  let scanned = { rows: 0, bytes: 0 };
  while (scanned.rows < looked) {
    // As many as fit, going by those so far: of records of 60 KB no thousand is read to show twenty.
    const average = Math.max(1, scanned.bytes / scanned.rows);
    const fitting =
      scanned.rows === 0 ? FIRST_READ_ROWS : Math.min(MAX_READ_ROWS, Math.ceil((PAGE_BYTES - bytes) / average));
    const count = Math.min(fitting, looked - scanned.rows);
    const slice = await read(last, count);
    for (const row of slice) {
      last = row;
      scanned = { rows: scanned.rows + 1, bytes: scanned.bytes + row.size };
      if (!wanted(row)) continue;
      rows.push(row);
      bytes += row.size;
      if (rows.length === limit || bytes >= PAGE_BYTES) return { rows, last, ended: false };
    }
    if (slice.length < count) return { rows, last, ended: true };
  }
  return { rows, last, ended: false };
}
