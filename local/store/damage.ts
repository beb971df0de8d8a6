/** Finds damage in the journal's sealed files: each cycle checks all files, and verifies the checksums of a part of them. */
import { basename } from "node:path";
import { sequenceId } from "../../lib/store/collections.ts";
import type { Log } from "../../lib/kit/platform.ts";
import type { DamagedFile } from "../../lib/store/faults.ts";
import { type Catalog, locationFile } from "./catalog.ts";
import type { Files } from "./files.ts";
import { StoreDamaged } from "./journal_format.ts";
import { describeRescue } from "./ownership.ts";
import { findLowest } from "./location_map.ts";
import { parseBatch, openSegment, scanLines, type Segment, SLICE_BYTES } from "./segment.ts";
import { waitUntilUnused } from "./segment_uses.ts";

/** The known damage. */
export interface Damage {
  has(segment: Segment): boolean;
  /** Records damage that a read found, if the file is sealed. */
  record(error: StoreDamaged): void;
  /** Lists the damaged files. */
  list(): readonly DamagedFile[];
  /** Verifies a file's checksums and records the result; false when it is damaged, or when this was cancelled. */
  verify(segment: Segment): Promise<boolean>;
  /** Checks that all files are present, then verifies damaged files and a part of the others. */
  inspect(): Promise<void>;
}

/** The files that are checked for damage. */
export interface DamageParts {
  files: Files;
  log: Log;
  catalog: Catalog;
  sequences: readonly string[];
  /** Open files of the journal by number. */
  segments: Map<number, Segment>;
  /** Sealed segments in order. */
  sealed: Segment[];
  /** Called between slices of work; true cancels the work. */
  stopped(): boolean;
}

/** Bytes whose checksums a cycle verifies: this many, or this share of all sealed files if that is more. */
const MIN_VERIFIED_BYTES = 4 * 1024 * 1024;
const VERIFIED_SHARE = 1 / 1000;

/** Creates the check, without known damage. */
export function newDamage({ files, log, catalog, sequences, segments, sealed, stopped }: DamageParts): Damage {
  /** Reasons by segment number. */
  const reasons = new Map<number, string>();
  /** Segment and offset at which the next cycle continues. */
  let cursor: { segment: Segment; offset: number } | undefined;

  const markDamaged = (segment: Segment, reason: string): void => {
    const { header, path } = segment;
    if (reasons.get(header.segment) === reason) return;
    reasons.set(header.segment, reason);
    log.error("a sealed journal file is damaged", { file: path, reason, holds: describeContent(segment) });
  };
  const markIntact = ({ header, path }: Segment): void => {
    if (reasons.delete(header.segment)) log.info("a sealed journal file is intact again", { file: path });
  };

  /** Returns the numbers of the first and last record of a sequence in a segment; the first is higher if there is no record. */
  const findSequenceRange = (name: string, { header }: Segment): [first: number, last: number] => {
    /** Finds the index of the first record that is in segment `number` or a later one. */
    const findFirstFrom = (number: number): number =>
      findLowest(catalog.size(name), (index) => {
        const location = catalog.locate(name, sequenceId(index + 1))!;
        return segments.get(locationFile(location))!.header.segment >= number;
      });
    return [findFirstFrom(header.segment) + 1, findFirstFrom(header.segment + 1)];
  };

  /** Describes the content of a segment for people. */
  const describeContent = (segment: Segment): string => {
    const { header, last, live } = segment;
    const ranges = sequences.flatMap((name) => {
      const [firstId, lastId] = findSequenceRange(name, segment);
      return firstId > lastId ? [] : [`${name} entries ${firstId} to ${lastId}`];
    });
    return [`commits ${header.after + 1} to ${last}`, ...ranges, `${live} current records in all`].join(", ");
  };

  /** Verifies lines from an offset on, up to `maxBytes`; returns the offset to continue at. Errors: `StoreDamaged`. */
  const scan = async (segment: Segment, offset: number, maxBytes: number): Promise<number> => {
    const visit = (buffer: Buffer, start: number, end: number, at: number): boolean => {
      if (stopped() || at - offset >= maxBytes) return false;
      parseBatch(segment.path, buffer, start, end, at);
      return true;
    };
    const endOffset = await scanLines(files, segment, offset, visit, { chunkBytes: SLICE_BYTES });
    if (endOffset < segment.bytes && !stopped() && endOffset - offset < maxBytes)
      throw new StoreDamaged(segment.path, endOffset, "its last line has no end");
    return endOffset;
  };

  const verify: Damage["verify"] = async (segment) => {
    try {
      const endOffset = await scan(segment, segment.firstOffset, Infinity);
      if (endOffset < segment.bytes) return false;
      markIntact(segment);
      return true;
    } catch (error) {
      if (!(error instanceof StoreDamaged)) throw error;
      markDamaged(segment, error.message);
      return false;
    }
  };

  /** Opens the file that is now at the path of a replaced one; undefined unless it has the same bytes. */
  const reopen = async ({ path, file, mark, bytes }: Segment): Promise<Segment | undefined> => {
    const opened = await openSegment(files, path, file, "read").catch(() => undefined);
    if (!opened) return undefined;
    const isIntact =
      opened.mark === mark &&
      opened.bytes === bytes &&
      (await scan(opened, opened.firstOffset, Infinity).then(
        (end) => end === bytes,
        () => false,
      ));
    if (isIntact) return opened;
    await files.close(opened.fd);
    return undefined;
  };

  /** Records damage if a file was removed, replaced, or has another length. */
  const checkFile = async (segment: Segment): Promise<void> => {
    const { path, fd, inode, bytes, reserved, header } = segment;
    const stats = files.stat(path);
    const rescue = `Before you stop anything, copy it back: ${describeRescue(fd, path)}.`;
    if (!stats) return markDamaged(segment, `${path} is gone. ${rescue}`);
    if (stats.inode !== inode) {
      const reopened = await reopen(segment);
      if (!reopened) return markDamaged(segment, `${path} was replaced by another file. ${rescue}`);
      const { puts, live, deletions, last } = segment;
      const current = Object.assign(reopened, { puts, live, deletions, last });
      sealed[header.segment - 1] = current;
      segments.set(current.file, current);
      await waitUntilUnused(segment);
      await files.close(fd);
      return markIntact(current);
    }
    if (stats.size < bytes)
      return markDamaged(segment, `${path} has ${stats.size} bytes of ${bytes}. Restore it from a copy.`);
    if (stats.size > Math.max(bytes, reserved))
      return markDamaged(segment, `${path} has ${stats.size} bytes, and was left with ${bytes}.`);
    if (reasons.has(header.segment)) await verify(segment);
  };

  /** Verifies the next part of the sealed files, in rotation. */
  const verifyPart = async (): Promise<void> => {
    const total = sealed.reduce((sum, { bytes }) => sum + bytes, 0);
    let bytesLeft = Math.max(MIN_VERIFIED_BYTES, total * VERIFIED_SHARE);
    for (let count = 0; count < sealed.length && bytesLeft > 0 && !stopped(); count++) {
      const validCursor = cursor && sealed.includes(cursor.segment) ? cursor : undefined;
      const { segment, offset } = validCursor ?? { segment: sealed[0]!, offset: sealed[0]!.firstOffset };
      let endOffset = segment.bytes;
      if (!reasons.has(segment.header.segment))
        try {
          endOffset = await scan(segment, offset, bytesLeft);
        } catch (error) {
          if (!(error instanceof StoreDamaged)) throw error;
          markDamaged(segment, error.message);
        }
      bytesLeft -= endOffset - offset;
      // Segments are numbered from 1, so this is the one after `segment`, or the first one.
      const next = sealed[segment.header.segment % sealed.length]!;
      cursor = endOffset < segment.bytes ? { segment, offset: endOffset } : { segment: next, offset: next.firstOffset };
    }
  };

  return {
    has: ({ header }) => reasons.has(header.segment),
    record(error) {
      const segment = sealed.find(({ path }) => path === error.file);
      if (segment) markDamaged(segment, error.message);
    },
    list: () =>
      [...reasons].map(([number, reason]) => {
        const segment = sealed[number - 1]!;
        return { file: basename(segment.path), reason, holds: describeContent(segment) };
      }),
    verify,
    async inspect() {
      for (const segment of [...sealed]) if (!stopped()) await checkFile(segment);
      await verifyPart();
    },
  };
}
