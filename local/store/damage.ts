/** Damage in the journal's sealed files: found by looking at each of them in every cycle, and at a part of what they hold. */
import { basename } from "node:path";
import { sequenceId } from "../../lib/store/collections.ts";
import type { Log } from "../../lib/kit/platform.ts";
import type { DamagedFile } from "../../lib/store/faults.ts";
import { type Catalog, placeFile } from "./catalog.ts";
import type { Files } from "./files.ts";
import { StoreDamaged } from "./journal_format.ts";
import { describeRescue } from "./ownership.ts";
import { lowest } from "./places.ts";
import { parseBatch, openSegment, scanLines, type Segment, SLICE } from "./segment.ts";
import { whenUnused } from "./uses.ts";

/** The damage that is known. */
export interface Damage {
  has(segment: Segment): boolean;
  /** Notes damage that a read found; of a file that is not sealed nothing is noted. */
  note(error: StoreDamaged): void;
  /** The damaged files. */
  list(): readonly DamagedFile[];
  /** Verifies a file against its checksums, and notes whether it is damaged; false when it is, or was not read to its end. */
  verify(segment: Segment): Promise<boolean>;
  /** Checks each file's presence, then the checksums of damaged files and of a part of the others. */
  inspect(): Promise<void>;
}

/** The files that are checked for damage. */
export interface DamageParts {
  files: Files;
  log: Log;
  catalog: Catalog;
  sequences: readonly string[];
  /** The open files of the journal by their numbers. */
  segments: Map<number, Segment>;
  /** The sealed ones, in order. */
  sealed: Segment[];
  /** Asked between pieces: true gives the work up. */
  stopped(): boolean;
}

/** Bytes of sealed files whose checksums a cycle verifies: this many, or this share of them. */
const MIN_VERIFIED_BYTES = 4 * 1024 * 1024;
const VERIFIED_SHARE = 1 / 1000;

/** Nothing is damaged as far as is known. */
export function newDamage({ files, log, catalog, sequences, segments, sealed, stopped }: DamageParts): Damage {
  /** Reasons by the number of the segment. */
  const reasons = new Map<number, string>();
  /** The segment and offset at which the next cycle goes on. */
  let cursor: { segment: Segment; offset: number } | undefined;

  const mark = (segment: Segment, reason: string): void => {
    const { header, path } = segment;
    if (reasons.get(header.segment) === reason) return;
    reasons.set(header.segment, reason);
    log.error("a sealed journal file is damaged", { file: path, reason, holds: contentOf(segment) });
  };
  const clear = ({ header, path }: Segment): void => {
    if (reasons.delete(header.segment)) log.info("a sealed journal file is intact again", { file: path });
  };

  /** The numbers of the first and the last record of a sequence in a segment. */
  const rangeIn = (name: string, { header }: Segment): [first: number, last: number] => {
    const firstFrom = (number: number): number =>
      lowest(catalog.size(name), (index) => {
        const place = catalog.place(name, sequenceId(index + 1))!;
        return segments.get(placeFile(place))!.header.segment >= number;
      });
    return [firstFrom(header.segment) + 1, firstFrom(header.segment + 1)];
  };

  /** The content of a segment in words. */
  const contentOf = (segment: Segment): string => {
    const { header, last, live } = segment;
    const ranges = sequences.flatMap((name) => {
      const [first, end] = rangeIn(name, segment);
      return first > end ? [] : [`${name} entries ${first} to ${end}`];
    });
    return [`commits ${header.after + 1} to ${last}`, ...ranges, `${live} current records in all`].join(", ");
  };

  /** Verifies lines from an offset on, at most so many bytes; returns where to go on. Errors: `StoreDamaged`. */
  const scan = async (segment: Segment, offset: number, most: number): Promise<number> => {
    const visit = (buffer: Buffer, start: number, end: number, at: number): boolean => {
      if (stopped() || at - offset >= most) return false;
      parseBatch(segment.path, buffer, start, end, at);
      return true;
    };
    const reached = await scanLines(files, segment, offset, visit, { piece: SLICE });
    if (reached < segment.bytes && !stopped() && reached - offset < most)
      throw new StoreDamaged(segment.path, reached, "its last line has no end");
    return reached;
  };

  const verify: Damage["verify"] = async (segment) => {
    try {
      const reached = await scan(segment, segment.begins, Infinity);
      if (reached < segment.bytes) return false;
      clear(segment);
      return true;
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error;
      mark(segment, error.message);
      return false;
    }
  };

  /** Opens the file that stands in the place of one that was gone or replaced; undefined unless it is the same to the byte. */
  const reopened = async ({ path, file, mark: header, bytes }: Segment): Promise<Segment | undefined> => {
    const opened = await openSegment(files, path, file, "read").catch(() => undefined);
    if (!opened) return undefined;
    const isIntact =
      opened.mark === header &&
      opened.bytes === bytes &&
      (await scan(opened, opened.begins, Infinity).then(
        (end) => end === bytes,
        () => false,
      ));
    if (isIntact) return opened;
    await files.close(opened.fd);
    return undefined;
  };

  /** Notes a file that is not where it was, or not as long. */
  const checkFile = async (segment: Segment): Promise<void> => {
    const { path, fd, inode, bytes, reserved, header } = segment;
    const seen = files.seen(path);
    const rescue = `Before you stop anything, copy it back: ${describeRescue(fd, path)}.`;
    if (!seen) return mark(segment, `${path} is gone. ${rescue}`);
    if (seen.inode !== inode) {
      const again = await reopened(segment);
      if (!again) return mark(segment, `${path} was replaced by another file. ${rescue}`);
      const { puts, live, deletions, last } = segment;
      const current = Object.assign(again, { puts, live, deletions, last });
      sealed[header.segment - 1] = current;
      segments.set(current.file, current);
      await whenUnused(segment);
      await files.close(fd);
      return clear(current);
    }
    if (seen.size < bytes) return mark(segment, `${path} has ${seen.size} bytes of ${bytes}. Restore it from a copy.`);
    if (seen.size > Math.max(bytes, reserved))
      return mark(segment, `${path} has ${seen.size} bytes, and was left with ${bytes}.`);
    if (reasons.has(header.segment)) await verify(segment);
  };

  /** Verifies the next part of the sealed files, in rotation. */
  const verifyPart = async (): Promise<void> => {
    const total = sealed.reduce((sum, { bytes }) => sum + bytes, 0);
    let left = Math.max(MIN_VERIFIED_BYTES, total * VERIFIED_SHARE);
    for (let count = 0; count < sealed.length && left > 0 && !stopped(); count++) {
      const at = cursor && sealed.indexOf(cursor.segment) !== -1 ? cursor : undefined;
      const { segment, offset } = at ?? { segment: sealed[0]!, offset: sealed[0]!.begins };
      let reached = segment.bytes;
      if (!reasons.has(segment.header.segment))
        try {
          reached = await scan(segment, offset, left);
        } catch (error) {
          if (!(error instanceof StoreDamaged)) throw error;
          mark(segment, error.message);
        }
      left -= reached - offset;
      const next = sealed[segment.header.segment % sealed.length]!;
      cursor = reached < segment.bytes ? { segment, offset: reached } : { segment: next, offset: next.begins };
    }
  };

  return {
    has: ({ header }) => reasons.has(header.segment),
    note(error) {
      const segment = sealed.find(({ path }) => path === error.file);
      if (segment) mark(segment, error.message);
    },
    list: () =>
      [...reasons].map(([number, reason]) => {
        const segment = sealed[number - 1]!;
        return { file: basename(segment.path), reason, holds: contentOf(segment) };
      }),
    verify,
    async inspect() {
      for (const segment of [...sealed]) if (!stopped()) await checkFile(segment);
      await verifyPart();
    },
  };
}
