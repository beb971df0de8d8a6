/** The store on files: journal, batches, replay, segments, compaction, snapshot, lock; and the store in memory. */

const JOURNAL = ["test/local/store/journal.test.ts"];
const RECOVERY = ["test/local/store/recovery.test.ts"];
const SEGMENTS = ["test/local/store/segments.test.ts"];
const DURABLE = ["test/local/store/durable_answer.test.ts"];
const journal = { file: "local/store/journal.ts", tests: JOURNAL };
const batch = { file: "local/store/batch.ts", tests: JOURNAL };
const files = { file: "local/store/files.ts" };
const replay = { file: "local/store/replay.ts", tests: RECOVERY };
const recover = { file: "local/store/recover.ts", tests: RECOVERY };
const compaction = { file: "local/store/compaction.ts", tests: SEGMENTS };
const maintenance = { file: "local/store/maintenance.ts", tests: SEGMENTS };
const index = { file: "local/store/segment_index.ts", tests: SEGMENTS };
const snapshot = { file: "local/store/snapshot.ts", tests: ["test/local/store/snapshot.test.ts"] };
const transactions = { file: "local/store/transactions.ts", tests: JOURNAL };
const lock = { file: "local/lock_folder.ts", tests: ["test/local/lock.test.ts"] };
const draft = { file: "lib/store/draft.ts", tests: ["test/lib/store/memory.test.ts"] };

export const store = [
  {
    ...batch,
    name: "the end of a long text in three-byte characters is cut off",
    find: "length + text.length * 3",
    replace: "length + text.length * 2",
    grave: true,
  },
  {
    ...batch,
    name: "a second batch begins with the first one's end",
    find: "      length = 0;\n      commits = 0;",
    replace: "      commits = 0;",
  },
  {
    ...files,
    name: "syncing does nothing",
    find: "sync: promisify(fs.fdatasync),",
    replace: "sync: async () => undefined,",
    tests: DURABLE,
    grave: true,
  },
  {
    ...journal,
    name: "a write is acknowledged before it is synced",
    find: "await files.sync(active.fd);\n  };",
    replace: "void files.sync(active.fd).catch(() => undefined);\n  };",
    tests: DURABLE,
  },
  {
    ...files,
    name: "what a write left over is not written",
    find: "for (let done = 0; done < bytes.length;) {\n    const written",
    replace: "for (let done = 0; done < 1;) {\n    const written",
    tests: JOURNAL,
  },
  {
    ...files,
    name: "a file takes its place before its content is durable",
    find: "await writeAll(files, fd, content, 0);\n    await files.sync(fd);",
    replace: "await writeAll(files, fd, content, 0);",
    tests: ["test/local/store/snapshot.test.ts"],
  },
  {
    ...files,
    name: "a new folder's name is not made durable",
    find: "await files.syncFolder(dirname(made));",
    replace: "",
    tests: JOURNAL,
  },
  {
    ...journal,
    name: "after a failed sync the store goes on writing",
    find: "        return fail(error);",
    replace: "        await fail(error);\n        failure = undefined;\n        continue;",
  },
  {
    ...journal,
    name: "those who wait for a failed write are told it is done",
    find: "for (const waiter of waiters) waiter.failed(failure);",
    replace: "for (const waiter of waiters) waiter.durable();",
  },
  {
    ...journal,
    name: "what was accepted on top of a failed write waits for ever",
    find: "const waiters = [...(writing?.waiters ?? []), ...gathering.waiters];",
    replace: "const waiters = [...(writing?.waiters ?? [])];",
  },
  {
    ...journal,
    name: "a write that failed half way leaves half a line",
    find: "await files.truncate(active.fd, active.bytes).catch(() => undefined);",
    replace: "",
  },
  {
    ...journal,
    name: "a journal file grows without end",
    find: "if (active.bytes + batch.bytes.length > segmentBytes && active.last > active.header.after) await rotate();",
    replace: "void rotate;",
    tests: SEGMENTS,
  },
  {
    ...journal,
    name: "of two renames only the second is made durable",
    find: "sealed.path = paths.segment(segment);\n      await files.syncFolder(paths.folder);",
    replace: "sealed.path = paths.segment(segment);",
    tests: ["test/local/store/crash.test.ts"],
    only: "power may fail",
  },
  {
    ...journal,
    name: "a read of what is not durable is answered at once",
    find: "if (last) last.waiters.push(waiter);\n      else waiter.durable();",
    replace: "void last;\n      waiter.durable();",
    tests: ["test/local/store/contract.test.ts", ...JOURNAL],
  },
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
    file: "local/store/scan.ts",
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
    find: "if (storedCollection !== collection || storedId !== id || revision === undefined) throw damaged(place);",
    replace: "if (revision === undefined) throw damaged(place);",
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
    name: "an earlier version hides a later one until it is durable",
    file: "local/store/overlay.ts",
    find: "if (known?.get(version.id) === version) known.delete(version.id);",
    replace: "known?.delete(version.id);",
    tests: ["test/local/store/parts.test.ts"],
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
    file: "local/store/blocks.ts",
    find: "if (told !== undefined && kept !== undefined && told !== kept)",
    replace: "if (false)",
    tests: RECOVERY,
  },
  {
    ...transactions,
    name: "an audit entry may be written over",
    find: "if (text === undefined || id !== next)",
    replace: "if (text === undefined)",
  },
  {
    ...transactions,
    name: "an error tells of what was read before that is durable",
    find: "durable = () => reject(error);\n    }",
    replace: "return reject(error);\n    }",
    tests: ["test/local/store/contract.test.ts"],
  },
  {
    ...lock,
    name: "two processes own one state file",
    find: "if ((await Promise.all(held)).includes(true)) {",
    replace: "if (false) {",
    grave: true,
  },
  {
    ...lock,
    name: "a process that does not answer counts as gone",
    find: "socket.setTimeout(patience, () => decide(true));",
    replace: "socket.setTimeout(patience, () => decide(false));",
  },
  {
    ...lock,
    name: "a state file stays locked when its process was killed",
    find: 'decide(!GONE.includes(error.code ?? ""))',
    replace: "decide(true)",
  },
  {
    ...draft,
    name: "an expected revision is not looked at",
    find: "if (expected !== undefined && expected !== actual)",
    replace: "if (false)",
  },
  {
    ...draft,
    name: "a refused write is kept when the decision hides the refusal",
    find: "if (refusal !== undefined) throw refusal;",
    replace: "",
  },
  {
    ...draft,
    name: "a decision that has ended goes on writing",
    find: 'if (ended) throw new Error("this transaction has ended: await every read and make every write within the decision");',
    replace: "void ended;",
  },
  {
    ...draft,
    name: "a decision does not see its own writes in a page",
    find: "if (!versions || versions.size === 0 || options.limit === 0) return below(options);",
    replace: "void versions; if (true) return below(options);",
  },
  {
    name: "half of a transaction is kept in memory when it fails",
    file: "lib/store/memory.ts",
    find: "const result = await decide(tx);\n    keep(finish());",
    replace:
      "const result = await (async () => decide(tx))().catch((error: unknown) => { keep(finish()); throw error; });\n    keep(finish());",
    tests: ["test/lib/store/memory.test.ts"],
  },
];
