/**
 * node --import disk_recorder.mjs PROGRAM: records each change of the files below DISK_FOLDER in the file DISK_RECORD, in the order
 * in which the program makes them, so that power cuts can be simulated. A record is a line of JSON, followed by the bytes of a
 * write. Writes, syncs, renames and removals are recorded before they begin, and again (`done` with the same id) when they are done.
 */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join, resolve } from "node:path";

const folder = resolve(process.env.DISK_FOLDER);
const record = fs.openSync(process.env.DISK_RECORD, "a");
const original = { ...fs, promises: { ...fs.promises } };

/** Recorded files by descriptor. */
const open = new Map();
let operations = 0;

function appendRecord(entry, data) {
  const line = Buffer.from(`${JSON.stringify({ ...entry, bytes: data?.length ?? 0 })}\n`);
  original.writeSync(record, data ? Buffer.concat([line, data]) : line);
}

const isRecorded = (path) => typeof path === "string" && resolve(path).startsWith(join(folder, "/"));
/** The folder itself is opened too, to sync it. */
const isInFolder = (path) => isRecorded(path) || (typeof path === "string" && resolve(path) === folder);

/** Records an operation before and after it, so that a cut may fall between the two. */
async function recordAround(entry, run) {
  const id = ++operations;
  appendRecord({ ...entry, id });
  const result = await run();
  appendRecord({ op: "done", id });
  return result;
}

function recordOpened(path, flags, fd) {
  if (!isInFolder(path)) return;
  open.set(fd, resolve(path));
  const isCreated = typeof flags === "string" ? /^[wa]/.test(flags) : (flags & fs.constants.O_CREAT) !== 0;
  const isEmptied = typeof flags === "string" ? flags.startsWith("w") : (flags & fs.constants.O_TRUNC) !== 0;
  if (isCreated) appendRecord({ op: "create", path: resolve(path), empties: isEmptied });
}

// `mode` may be omitted, so that the callback is the third argument.
fs.open = (path, flags, mode, callback = mode) =>
  original.open(path, flags, typeof mode === "number" ? mode : 0o666, (error, fd) => {
    if (!error) recordOpened(path, flags, fd);
    callback(error, fd);
  });
fs.close = (fd, callback) => {
  open.delete(fd);
  return original.close(fd, callback);
};

const sliceBytes = (bytes, offset, length) => Buffer.from(bytes.buffer, bytes.byteOffset + offset, length);

fs.write = (fd, bytes, offset, length, position, callback) => {
  const path = open.get(fd);
  if (path === undefined) return original.write(fd, bytes, offset, length, position, callback);
  const id = ++operations;
  appendRecord({ op: "write", id, path, position }, sliceBytes(bytes, offset, length));
  original.write(fd, bytes, offset, length, position, (error, written) => {
    if (!error) appendRecord({ op: "done", id });
    callback(error, written);
  });
};
fs.writeSync = (fd, bytes, offset = 0, length = bytes.length, position = null) => {
  const path = open.get(fd);
  if (path === undefined) return original.writeSync(fd, bytes, offset, length, position);
  const id = ++operations;
  const at = position ?? original.fstatSync(fd).size;
  appendRecord({ op: "write", id, path, position: at }, sliceBytes(bytes, offset, length));
  const written = original.writeSync(fd, bytes, offset, length, position);
  appendRecord({ op: "done", id });
  return written;
};

for (const name of ["fdatasync", "fsync"])
  fs[name] = (fd, callback) => {
    const path = open.get(fd);
    if (path === undefined) return original[name](fd, callback);
    const id = ++operations;
    appendRecord({ op: "sync", id, path });
    original[name](fd, (error) => {
      if (!error) appendRecord({ op: "done", id });
      callback(error);
    });
  };
fs.ftruncate = (fd, size, callback) => {
  const path = open.get(fd);
  if (path !== undefined) appendRecord({ op: "truncate", path, size });
  return original.ftruncate(fd, size, callback);
};

fs.promises.rename = async (from, to) => {
  if (!isRecorded(from)) return original.promises.rename(from, to);
  await recordAround({ op: "rename", path: resolve(from), to: resolve(to) }, () => original.promises.rename(from, to));
  for (const [fd, path] of open) if (path === resolve(from)) open.set(fd, resolve(to));
};
for (const name of ["rm", "unlink"])
  fs.promises[name] = (path, ...rest) =>
    isRecorded(path)
      ? recordAround({ op: "remove", path: resolve(path) }, () => original.promises[name](path, ...rest))
      : original.promises[name](path, ...rest);
fs.promises.open = async (path, flags, mode) => {
  const handle = await original.promises.open(path, flags, mode);
  if (!isInFolder(path)) return handle;
  recordOpened(path, flags ?? "r", handle.fd);
  const { fd } = handle;
  const [writeFile, sync, close] = ["writeFile", "sync", "close"].map((name) => handle[name].bind(handle));
  handle.writeFile = (text, options) => {
    const id = ++operations;
    appendRecord({ op: "write", id, path: open.get(fd), position: 0 }, Buffer.from(text));
    return writeFile(text, options).then(() => appendRecord({ op: "done", id }));
  };
  handle.sync = () => recordAround({ op: "sync", path: open.get(fd) }, sync);
  handle.close = () => {
    open.delete(fd);
    return close();
  };
  return handle;
};
syncBuiltinESMExports();
