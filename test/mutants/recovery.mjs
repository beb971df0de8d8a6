/** The store on files when it starts: replay, torn ends, sealed files and their catalog, compaction, state file. */

const RECOVERY = ["test/local/store/recovery.test.ts"];
const SEGMENTS = ["test/local/store/segments.test.ts"];
const TORN = ["test/local/store/torn_batch.test.ts"];
const recover = { file: "local/store/recover.ts", tests: RECOVERY };
const replay = { file: "local/store/replay.ts", tests: RECOVERY };
const compaction = { file: "local/store/compaction.ts", tests: SEGMENTS };
const maintenance = { file: "local/store/maintenance.ts", tests: SEGMENTS };
const catalogFile = { file: "local/store/catalog.ts", tests: [...SEGMENTS, ...RECOVERY] };
const stateFile = { file: "local/store/state_file.ts", tests: ["test/local/store/state_file.test.ts"] };

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
    find: "if (isIntact(buffer.subarray(from, to))) refuse(path, end);",
    replace: "void [buffer, from, to];",
    tests: TORN,
    only: "a sector lost from a batch that another follows",
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
    find: "if (end < segment.bytes) refuse(path, end);",
    replace: "",
    tests: [...RECOVERY, ...SEGMENTS],
  },
  {
    ...recover,
    name: "a journal older than its state file is served",
    find: "if (state.sequence > sequence)",
    replace: "if (false)",
  },
  {
    ...recover,
    name: "a state file of another store is taken for this one's",
    find: "if (state.store !== store)",
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
    find: "await replaceFile(files, path, [rest]);",
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
    find: "await writeAgain(files, last);",
    replace: "void writeAgain;",
    tests: ["test/local/store/crash.test.ts"],
    only: "any call may fail|killed right after",
  },
  {
    ...compaction,
    name: "compaction takes out what is still needed",
    find: "live.delete(at) ? moves.from.push(at) - 1 : -1;",
    replace: "live.delete(at) ? -1 : moves.from.push(at) - 1;",
  },
  {
    ...compaction,
    name: "compaction forgets deletions of what an older file still has",
    find: 'if (id !== "" && catalog.place(collection, id) === undefined && remains(collection, id)) return true;',
    replace: "",
  },
  {
    ...compaction,
    name: "compaction keeps deletions for ever",
    find: "catalog.place(collection, id) === undefined && remains(collection, id)) return true;",
    replace: "catalog.place(collection, id) === undefined) return true;",
  },
  {
    ...maintenance,
    name: "compaction does not look what an older file still has",
    find: "for (const older of unknown.splice(0)) await remains.add(older);",
    replace: "unknown.splice(0);",
  },
  {
    ...compaction,
    name: "compaction forgets the highest revision of what was deleted",
    find: "floors.set(collection, Math.max(floors.get(collection) ?? 0, revision));",
    replace: "void revision;",
  },
  {
    ...compaction,
    name: "compaction takes out audit entries",
    find: "if (sequence !== undefined) return gatherRecord",
    replace: "if (sequence !== undefined && rank !== -1) return gatherRecord",
  },
  {
    ...compaction,
    name: "a record that was moved is looked for in the wrong batch",
    find: "moves.to[rank] = compacted.bytes + at;",
    replace: "moves.to[rank] = at;",
  },
  {
    ...compaction,
    name: "a record that a compaction did not come by is left behind",
    find: "if (live.size > 0) throw",
    replace: "if (live.size < 0) throw",
  },
  {
    ...compaction,
    name: "a compaction that knows of fewer records than are live drops the others",
    find: "if (live.size < segment.live)",
    replace: "if (live.size < 0)",
  },
  {
    ...maintenance,
    name: "the ids of what is gone stay in the catalog file",
    find: "enqueue((superseded) => superseded > 0, 0)",
    replace: "enqueue((superseded) => superseded > 0, MOST_UNTOLD)",
  },
  {
    name: "the highest revision of what was deleted and put again at once is known to the journal only",
    file: "local/store/journal.ts",
    find: "placed.push([floor, line.add(operationText(floor))]);",
    replace: "line.add(operationText(floor));",
    tests: SEGMENTS,
  },
  {
    name: "a deletion is taken for a record that was superseded",
    file: "local/store/journal_format.ts",
    find: "return buffer[at] === COMMA && buffer[at - 1] === QUOTE;",
    replace: "return false;",
    tests: SEGMENTS,
  },
  {
    name: "places that lie behind many are passed over",
    file: "local/store/places.ts",
    find: "return blocks[end]?.first;",
    replace: "return blocks[end + 1]?.first;",
    tests: ["test/local/store/parts.test.ts"],
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
    name: "damage that the catalog file spared from being read is never found",
    find: "for (const segment of [...unread]) if (!stopping) await check(segment);",
    replace: "void check;",
  },
  {
    ...maintenance,
    name: "superseded records are never taken out by themselves",
    find: "enqueue((superseded, all) => superseded > 0 && superseded >= all / 2, MOST_UNTOLD)",
    replace: "enqueue(() => false, MOST_UNTOLD)",
  },
  {
    ...replay,
    name: "the catalog file is believed of a segment that was compacted since",
    find: "if (known.mark === segment.mark && known.bytes === segment.bytes) {",
    replace: "if (known) {",
  },
  {
    ...replay,
    name: "what a compaction took out is still in the catalog after a start",
    find: "if (isGone && !catalog.forget(number))",
    replace: "if (isGone && number < 0)",
  },
  {
    ...catalogFile,
    name: "a catalog file that was changed is believed",
    find: "if (whole || !isIntact(buffer.subarray(start, end))) return false;",
    replace: "if (whole) return false;",
  },
  {
    ...catalogFile,
    name: "the catalog file of another store is believed",
    find: " && line.store === store",
    replace: "",
  },
  {
    ...catalogFile,
    name: "a catalog file that was cut is believed",
    find: "return whole && end === bytes ?",
    replace: "return head ?",
  },
  {
    name: "an id that goes takes its neighbour's end along",
    file: "local/store/places.ts",
    find: "const grown = (id?.length ?? 0) - (end - start);",
    replace: "const grown = id?.length ?? 0;",
    tests: ["test/local/store/parts.test.ts"],
  },
  {
    name: "a record that is no longer where it was is given as something else",
    file: "local/store/reader.ts",
    find: "if (!text.startsWith(key) || comma === -1) throw broken();",
    replace: "if (comma === -1) throw broken();",
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
    file: "local/store/catalog.ts",
    find: "floors.set(collection, Math.max(floors.get(collection) ?? 0, revision));",
    replace: "void revision;",
    tests: SEGMENTS,
  },
  {
    ...stateFile,
    name: "a state file that is none is taken for one",
    find: "if (!value || !known || typeof value.store",
    replace: "if (!value || typeof value.store",
    tests: RECOVERY,
  },
  {
    ...stateFile,
    name: "a state file that cannot be written stops the service",
    find: 'log.warn("the state file could not be written; the journal holds everything", { error });',
    replace: "throw error;",
  },
  {
    ...stateFile,
    name: "every change writes the whole state file",
    find: "      if (callOff) return;\n",
    replace: "",
  },
  {
    ...stateFile,
    name: "an edited state file is served",
    find: "if (state.format === STATE_FORMAT && checksum !== checksumOf(state))",
    replace: "if (false)",
    tests: RECOVERY,
  },
];
