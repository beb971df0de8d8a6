/** The store on files when it writes: journal, batches, syncs, lock; and the rules of every transaction. */

const JOURNAL = ["test/local/store/journal.test.ts"];
const SEGMENTS = ["test/local/store/segments.long.test.ts"];
const DURABLE = ["test/local/store/durable_answer.test.ts"];
const MEMORY = ["test/lib/store/memory.test.ts"];
const HANGING = ["test/local/store/hanging_reads.test.ts"];
const journal = { file: "local/store/journal.ts", tests: JOURNAL };
const format = { file: "local/store/journal_format.ts", tests: JOURNAL };
const files = { file: "local/store/files.ts" };
const records = { file: "local/store/records.ts" };
const serial = { file: "lib/store/engine/serial.ts" };
const lock = { file: "local/lock_folder.ts", tests: ["test/local/lock.test.ts"] };
const writeSet = {
  file: "lib/store/engine/write_set.ts",
  tests: [...MEMORY, "test/lib/store/engine/write_set.test.ts"],
};
const values = { file: "lib/store/json.ts" };

const OWNERSHIP = ["test/local/store/ownership.test.ts"];
const ownership = { file: "local/store/ownership.ts", tests: OWNERSHIP };

export const store = [
  {
    name: "a record that has lost its end is a hole in its page",
    file: "local/store/reader.ts",
    find: "? await readOne(segment, collection, id, place)",
    replace: "? (undefined as never)",
    tests: ["test/local/store/reader.test.ts"],
  },
  {
    name: "compaction closes a file that is being read",
    file: "local/store/maintenance.ts",
    find: "await whenUnused(segment);",
    replace: "",
    tests: HANGING,
  },
  {
    ...records,
    name: "a record that was written while it was read is kept as it was",
    find: "if (catalog.place(collection, id) === place) recent.add(read);",
    replace: "recent.add(read);",
    tests: HANGING,
  },
  {
    ...writeSet,
    name: "a write that becomes durable while a page is read is listed twice",
    find: "rows.filter(({ id }) => !hidden.has(id))",
    replace: "rows.filter(({ id }) => ![...(versions?.values() ?? [])].some((one) => one.id === id))",
    tests: HANGING,
  },
  {
    ...format,
    name: "the end of a long text in three-byte characters is cut off",
    find: "bytesEach = 3)",
    replace: "bytesEach = 2)",
  },
  {
    ...journal,
    name: "a second batch begins with the first one's end",
    find: "    line.clear();\n",
    replace: "",
  },
  {
    file: "local/store/journal_batch.ts",
    name: "the revision of what was deleted and put again in one batch is forgotten",
    find: "if (before && !before.json)",
    replace: "if (false)",
    tests: [...JOURNAL, "test/local/store/model.test.ts"],
  },
  {
    ...journal,
    name: "no zeros are written ahead",
    find: "if (end > active.reserved) reserve(end);",
    replace: "void reserve;",
  },
  {
    ...journal,
    name: "a commit is refused where there is no room to write ahead",
    find: "    } catch {\n      // The next batch that needs room tries again, and is refused if there is none for itself.\n    }",
    replace: "    } finally {\n      void end;\n    }",
  },
  {
    ...files,
    name: "syncing does nothing",
    find: "sync: promisify(fs.fdatasync),",
    replace: "sync: async () => undefined,",
    tests: DURABLE,
  },
  {
    ...journal,
    name: "a write is acknowledged before it is synced",
    find: "await synced(files.sync(active.fd));",
    replace: "void files.sync(active.fd).catch(() => undefined);",
    tests: DURABLE,
  },
  {
    ...files,
    name: "what a write left over is not written",
    find: "for (let done = 0; done < bytes.length;)\n    done += something(files.writeNow",
    replace: "for (let done = 0; done < 1;)\n    done += something(files.writeNow",
    tests: JOURNAL,
  },
  {
    ...files,
    name: "a file takes its place before its content is durable",
    find: "      end += piece.length;\n    }\n    await files.sync(fd);",
    replace: "      end += piece.length;\n    }",
    tests: ["test/local/store/state_file.test.ts"],
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
    find: "for (const { failed } of waiters) failed(refused);",
    replace: "for (const { durable } of waiters) durable();",
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
    find: "await undo().catch(() => undefined);",
    replace: "",
  },
  {
    ...journal,
    name: "a journal file grows without end",
    find: "if (active.bytes + bytes.length > segmentBytes && active.last > active.header.after) await rotate();",
    replace: "void rotate;",
    tests: SEGMENTS,
  },
  {
    ...journal,
    name: "of two renames only the second is made durable",
    find: "paths.segment(segment));\n      await synced(files.syncFolder(paths.folder));",
    replace: "paths.segment(segment));",
    tests: ["test/local/store/crash.test.ts"],
    only: "power may fail",
  },
  {
    ...journal,
    name: "a read of what is not durable is answered at once",
    find: "return last ? last.done() : Promise.resolve();",
    replace: "void last;\n      return Promise.resolve();",
    tests: ["test/local/store/contract.test.ts", ...JOURNAL],
  },
  {
    ...records,
    name: "an earlier version hides a later one until it is durable",
    find: "if (known?.get(version.id) === version) known.delete(version.id);",
    replace: "known?.delete(version.id);",
    tests: ["test/local/store/parts.test.ts"],
  },
  {
    ...records,
    name: "an audit entry may be written over",
    find: "if (!json || id !== next)",
    replace: "if (!json)",
    tests: JOURNAL,
  },
  {
    ...serial,
    name: "an error tells of what was read before that is durable",
    find: "      durable = keep([]);\n",
    replace: "      durable = undefined;\n",
    tests: ["test/local/store/contract.test.ts"],
  },
  {
    ...lock,
    name: "two processes own one state file",
    find: "if ((await Promise.all(held)).includes(true)) {",
    replace: "if (false) {",
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
    ...writeSet,
    name: "an expected revision is not looked at",
    find: "if (expected !== undefined && expected !== actual)",
    replace: "if (false)",
  },
  {
    ...writeSet,
    name: "a refused write is kept when the decision hides the refusal",
    find: "if (refusal !== undefined) throw refusal;",
    replace: "",
  },
  {
    ...writeSet,
    name: "a decision that has ended goes on writing",
    find: 'if (ended) throw new Error("this transaction has ended: await every read and make every write within the decision");',
    replace: "void ended;",
  },
  {
    ...writeSet,
    name: "a decision does not see its own writes in a page",
    find: "return mergeList(versions, options, (below) => view.list(collection, below));",
    replace: "void [versions, mergeList]; return view.list(collection, options);",
  },
  {
    ...writeSet,
    name: "what writes hide of a page is not made up for",
    find: "const hides = rows.length === limit && rows.some(({ id }) => hidden.has(id));",
    replace: "const hides = false;",
  },
  {
    ...writeSet,
    name: "a page under writes ends with what lies below",
    find: "comesBefore(id, last)",
    replace: "!comesBefore(id, last)",
  },
  {
    ...records,
    name: "a check of the log reads the copies in memory",
    find: "options.uncached ? undefined : reader",
    replace: "reader",
    tests: ["test/local/tampered_files.test.ts"],
  },
  {
    ...records,
    name: "a record that is written again stays in memory as it was",
    find: "else recent.remove(version);",
    replace: "else void recent;",
    tests: ["test/local/store/written_bytes.test.ts"],
  },
  {
    file: "local/store/written_bytes.ts",
    name: "the bytes in memory answer for an operation that another file has at that offset",
    find: "place >= one.place && place < one.place + one.length",
    replace: "place < one.place + one.length",
    tests: ["test/local/store/written_bytes.test.ts"],
  },
  {
    ...serial,
    name: "what a decision wrote is kept although it failed",
    find: "      durable = keep([]);\n",
    replace: "      durable = keep(await writes().catch(() => []));\n",
    tests: MEMORY,
  },
  {
    file: "local/store/recent.ts",
    name: "a record that has grown long is read as it was before",
    find: "return remove(version);",
    replace: "return;",
    tests: ["test/local/store/parts.test.ts"],
  },
  {
    file: "local/store/recent.ts",
    name: "of a deleted record an earlier generation stays in memory",
    find: "for (const { versions } of [young, old])",
    replace: "for (const { versions } of [young])",
    tests: ["test/local/store/parts.test.ts"],
  },
  {
    file: "local/store/journal.ts",
    name: "a sync waits for one turn of the event loop only",
    find: "} while (gathering.commits > known && gathering.commits < TOGETHER);",
    replace: "} while (known < 0 && known < TOGETHER);",
    tests: ["test/local/store/journal.test.ts"],
  },
  {
    ...serial,
    name: "all decisions that came at once are made in one turn of the event loop",
    find: "    if (++carried % IN_A_TURN === 0) await nextTurn?.();\n",
    replace: "",
    tests: ["test/lib/store/engine/serial.test.ts"],
  },
  {
    ...writeSet,
    name: "a decision that has ended goes on reading",
    find: "    versions(keys) {\n      mustBeOpen();\n",
    replace: "    versions(keys) {\n",
    tests: ["test/lib/store/engine/write_set.test.ts"],
  },
  {
    ...writeSet,
    name: "a decision may write 51 records",
    find: "if (writes.length > MOST_WRITES)",
    replace: "if (writes.length > MOST_WRITES + 1)",
  },
  {
    ...writeSet,
    name: "a decision may write a megabyte of three-byte characters for each character",
    find: "if (bytes > MOST_BYTES)",
    replace: "if (bytes > 3 * MOST_BYTES)",
  },
  {
    ...values,
    name: "a reader may change what other readers see",
    find: "  return Object.freeze(value);\n",
    replace: "  return value;\n",
    tests: [...MEMORY, "test/lib/store/json.test.ts"],
  },
  {
    ...values,
    name: "a value may be changed after its text was made",
    find: "  if (walk.freeze) Object.freeze(value);\n",
    replace: "",
    tests: ["test/lib/store/json.test.ts"],
  },
  {
    ...journal,
    name: "a batch is written to a journal that is another's by now",
    find: "    requireFree(files, paths.journal, active);\n    if (active",
    replace: "    if (active",
    tests: OWNERSHIP,
  },
  {
    ...journal,
    name: "a batch is told as durable though another took the journal over before",
    find: "    requireUntouched(files, paths.journal, active);\n",
    replace: "",
    tests: OWNERSHIP,
  },
  {
    ...journal,
    name: "who lost the journal cuts off what another wrote when it closes",
    find: "        requireFree(files, paths.journal, active);\n      } catch",
    replace: "      } catch",
    tests: OWNERSHIP,
  },
  {
    ...ownership,
    name: "a start leaves no mark in the journal for whoever has it open",
    find: "  await files.lengthen(path);\n",
    replace: "",
  },
  {
    ...ownership,
    name: "what was written to the journal while a start read it is overlooked",
    find: "if (contentEnd(files, segment.fd, segment.reserved) !== bytes)",
    replace: "if (contentEnd === undefined)",
  },
  {
    ...ownership,
    name: "a start goes on in the file that its former owner may still write to",
    find: "await files.rename(aside, path);\n    return { ...segment, fd, inode, reserved: segment.bytes };",
    replace:
      'await files.close(fd);\n    return { ...segment, fd: await files.open(path, "write"), reserved: segment.reserved };',
  },
  {
    ...journal,
    name: "a write that failed is never tried again",
    find: "if (!failure?.passing ||",
    replace: "if (failure ||",
    tests: ["test/local/store/passing_faults.test.ts"],
  },
  {
    ...journal,
    name: "decisions after a fault see what was never durable",
    find: "parts.onRecovered();",
    replace: "",
    tests: ["test/local/store/passing_faults.test.ts"],
  },
  {
    ...ownership,
    name: "a file that was put in the journal's place is written beside",
    find: "if (seen.inode !== inode)",
    replace: "if (inode === -1)",
  },
  {
    ...ownership,
    name: "a line lands on what another wrote at the same place",
    find: "if (bytes < reserved && readBytes(files, fd, 1, bytes)[0] !== 0)",
    replace: "if (bytes > reserved)",
  },
];
