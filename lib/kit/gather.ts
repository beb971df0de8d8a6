/** Reads a page of records of unknown size in slices, until it has enough rows or enough bytes. */

/** A page ends with the record that reaches this many bytes of JSON, also below its limit of rows. */
export const PAGE_BYTES = 1024 * 1024;

/** A row that was read, with the size of its text in bytes. */
interface Row {
  size: number;
}

/** Rows to gather. `read` returns the next rows: fewer than `count` only at the end. */
export interface GatherOptions<R extends Row> {
  /** Maximum number of rows in the page. */
  limit: number;
  /** Maximum number of rows to read. */
  maxScanned: number;
  read(after: R | undefined, count: number): Promise<R[]>;
  isWanted?: ((row: R) => boolean) | undefined;
}

const FIRST_READ_ROWS = 100;
const MAX_READ_ROWS = 1000;

/** Returns the rows that pass `isWanted` and the last row that was read; `ended` when no row follows it. */
export async function gather<R extends Row>({
  limit,
  maxScanned,
  read,
  isWanted = () => true,
}: GatherOptions<R>): Promise<{ rows: R[]; last: R | undefined; ended: boolean }> {
  const rows: R[] = [];
  let last: R | undefined;
  let bytes = 0;
  let scanned = { rows: 0, bytes: 0 };
  while (scanned.rows < maxScanned) {
    // After the first read, as many as fit by the average size so far: a page of few large records does not read a thousand.
    // Never 0, which would divide by zero below; not used before the first read.
    const average = Math.max(1, scanned.bytes / scanned.rows);
    const fitting =
      scanned.rows === 0 ? FIRST_READ_ROWS : Math.min(MAX_READ_ROWS, Math.ceil((PAGE_BYTES - bytes) / average));
    const count = Math.min(fitting, maxScanned - scanned.rows);
    const slice = await read(last, count);
    for (const row of slice) {
      last = row;
      scanned = { rows: scanned.rows + 1, bytes: scanned.bytes + row.size };
      if (!isWanted(row)) continue;
      rows.push(row);
      bytes += row.size;
      if (rows.length === limit || bytes >= PAGE_BYTES) return { rows, last, ended: false };
    }
    if (slice.length < count) return { rows, last, ended: true };
  }
  return { rows, last, ended: false };
}
