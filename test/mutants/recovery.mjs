/** The store on files when it starts: replay, torn ends, sealed files and their indexes, compaction, snapshot. */

const RECOVERY = ["test/local/store/recovery.test.ts"];
const SEGMENTS = ["test/local/store/segments.test.ts"];
const replay = { file: "local/store/replay.ts", tests: RECOVERY };
const recover = { file: "local/store/recover.ts", tests: RECOVERY };
const compaction = { file: "local/store/compaction.ts", tests: SEGMENTS };
const maintenance = { file: "local/store/maintenance.ts", tests: SEGMENTS };
const index = { file: "local/store/segment_index.ts", tests: SEGMENTS };
const snapshot = { file: "local/store/snapshot.ts", tests: ["test/local/store/snapshot.test.ts"] };

export const recovery = [
  {
    ...replay,
    name: "a line that was changed is read as it is",
    find: "if (!isIntact(buffer.subarray(start, end))) return false;",
    replace: "",
  },
  {
    ...replay,
    name: "damage in the middle of the journal passes for a torn end",
    find: "if (isIntact(buffer.subarray(from, to))) refuseRest(path, end);",
    replace: "void [buffer, from, to];",
    grave: true,
  },
  {
    ...replay,
    name: "a commit may be missing",
    find: "if (head?.previous !== last) {",
    replace: "if (!head) {",
  },
  {
    ...replay,
    name: "a journal file of another store is read",
    find: "if (header.store !== store) throw",
    replace: "if (false) throw",
  },
  {
    ...replay,
    name: "a sealed file may be missing",
    find: "if (header.segment !== number || header.after !== last) throw new StoreDamaged(path, 0, wrong);",
    replace: "void wrong;",
    tests: [...RECOVERY, ...SEGMENTS],
  },
  {
    ...replay,
    name: "a sealed file may end in a broken line",
    find: "if (end < segment.bytes) refuseRest(path, end);",
    replace: "",
    tests: [...RECOVERY, ...SEGMENTS],
  },
  {
    ...recover,
    name: "a journal older than its snapshot is served",
    find: "if (snapshot.sequence > last)",
    replace: "if (false)",
  },
  {
    ...recover,
    name: "a snapshot of another store is taken for this one's",
    find: "if (snapshot.store !== store)",
    replace: "if (false)",
  },
  {
    ...recover,
    name: "a new store is begun where the journal is gone",
    find: "if (store === undefined)\n    throw new StoreDamaged(",
    replace: "if (store === undefined && false)\n    throw new StoreDamaged(",
  },
  {
    ...recover,
    name: "a torn end is cut off before it is set aside",
    find: "await replaceFile(files, path, rest);",
    replace: "",
  },
  {
    ...recover,
    name: "a second torn end takes the place of the first",
    find: "paths.torn((earlier.at(-1) ?? 0) + 1)",
    replace: "paths.torn(1)",
  },
  {
    ...recover,
    name: "lines that a failed sync left in memory are taken for written",
    find: "if (last) await writeAgain(files, last);",
    replace: "void writeAgain;",
    tests: ["test/local/store/crash.test.ts"],
    only: "any call may fail|killed right after",
  },
  {
    ...compaction,
    name: "compaction takes out what is still needed",
    find: "return deleted ? latest === undefined : latest === place;",
    replace: "return deleted ? latest === undefined : latest !== place;",
  },
  {
    ...compaction,
    name: "compaction forgets deletions",
    find: "return deleted ? latest === undefined : latest === place;",
    replace: "return !deleted && latest === place;",
  },
  {
    ...compaction,
    name: "compaction takes out audit entries",
    find: "if (sequences.includes(collection)) return true;",
    replace: "",
  },
  {
    name: "compaction puts a new checksum on a damaged line",
    file: "local/store/segment.ts",
    find: "if (!isIntact(buffer.subarray(start, end)))",
    replace: "if (false)",
    tests: SEGMENTS,
  },
  {
    ...maintenance,
    name: "damage that an index spared from being read is never found",
    find: "for (const segment of unread.splice(0)) if (!stopping) await check(segment);",
    replace: "void [unread, check];",
  },
  {
    ...maintenance,
    name: "superseded records are never taken out by themselves",
    find: "enqueue(({ live, operations }) => live <= operations / 2)",
    replace: "enqueue(() => false)",
  },
  {
    ...index,
    name: "an index of earlier content is believed",
    find: "index.mark !== mark || index.bytes !== bytes ||",
    replace: "",
    tests: [...SEGMENTS, ...RECOVERY],
  },
  {
    ...index,
    name: "an index that was changed is believed",
    find: "if (end === -1 || !isIntact(content.subarray(start, end))) return undefined;",
    replace: "if (end === -1) return undefined;",
    tests: [...SEGMENTS, ...RECOVERY],
  },
  {
    name: "a record that is no longer where it was is given as something else",
    file: "local/store/reader.ts",
    find: "if (!text.startsWith(key) || comma === -1) throw damaged(place);",
    replace: "if (comma === -1) throw damaged(place);",
    tests: SEGMENTS,
  },
  {
    name: "a record that is longer than was guessed is cut",
    file: "local/store/reader.ts",
    find: "if (end === -1 || end >= got) continue;",
    replace: "if (end === -1) continue;",
    tests: ["test/local/store/contract.test.ts", "test/local/store/model.test.ts", ...SEGMENTS],
  },
  {
    name: "a deleted record begins at revision 1 again after a start",
    file: "local/store/tombstones.ts",
    find: "revisions[slot] = Math.max(revisions[slot]!, revision);",
    replace: "revisions[slot] = 0;",
    tests: SEGMENTS,
  },
  {
    ...snapshot,
    name: "a state file that is none is taken for one",
    find: "if (value?.format !== STATE_FORMAT || typeof value.store",
    replace: "if (typeof value?.store",
    tests: RECOVERY,
  },
  {
    ...snapshot,
    name: "a snapshot that cannot be written stops the service",
    find: 'log.warn("the snapshot could not be written; the journal holds everything", { error });',
    replace: "throw error;",
  },
  {
    ...snapshot,
    name: "every change writes the whole snapshot",
    find: "      if (callOff) return;\n",
    replace: "",
  },
  {
    name: "a state file of another product is served",
    file: "local/store/snapshot.ts",
    find: "if (told !== undefined && kept !== undefined && told !== kept)",
    replace: "if (false)",
    tests: RECOVERY,
  },
];
