/**
 * node --import disk_recorder.mjs PROGRAM: records each change of the files below DISK_FOLDER in the file DISK_RECORD, in the order
 * in which the program makes them, so that power cuts can be replayed from it. One record: a line of JSON, and the bytes of a write
 * behind it. A write is recorded before it begins and again when it is done; a sync likewise.
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

function put(entry, data) {
  const line = Buffer.from(`${JSON.stringify({ ...entry, bytes: data?.length ?? 0 })}\n`);
  original.writeSync(record, data ? Buffer.concat([line, data]) : line);
}

const isRecorded = (path) => typeof path === "string" && resolve(path).startsWith(join(folder, "/"));
const inFolder = (path) => isRecorded(path) || (typeof path === "string" && resolve(path) === folder);

/** Records an operation before and after it, so that a cut may fall between the two. */
async function around(entry, run) {
  const id = ++operations;
  put({ ...entry, id });
  const result = await run();
  put({ op: "done", id });
  return result;
}

function opened(path, flags, fd) {
  if (!inFolder(path)) return;
  open.set(fd, resolve(path));
  const creates = typeof flags === "string" ? /^[wa]/.test(flags) : (flags & fs.constants.O_CREAT) !== 0;
  const empties = typeof flags === "string" ? flags.startsWith("w") : (flags & fs.constants.O_TRUNC) !== 0;
  if (creates) put({ op: "create", path: resolve(path), empties });
}

fs.open = (path, flags, mode, callback = mode) =>
  original.open(path, flags, typeof mode === "number" ? mode : 0o666, (error, fd) => {
    if (!error) opened(path, flags, fd);
    callback(error, fd);
  });
fs.close = (fd, callback) => {
  open.delete(fd);
  return original.close(fd, callback);
};

const slice = (bytes, offset, length) => Buffer.from(bytes.buffer, bytes.byteOffset + offset, length);

fs.write = (fd, bytes, offset, length, position, callback) => {
  const path = open.get(fd);
  if (path === undefined) return original.write(fd, bytes, offset, length, position, callback);
  const id = ++operations;
  put({ op: "write", id, path, position }, slice(bytes, offset, length));
  original.write(fd, bytes, offset, length, position, (error, written) => {
    if (!error) put({ op: "done", id });
    callback(error, written);
  });
};
fs.writeSync = (fd, bytes, offset = 0, length = bytes.length, position = null) => {
  const path = open.get(fd);
  if (path === undefined) return original.writeSync(fd, bytes, offset, length, position);
  const id = ++operations;
  const at = position ?? original.fstatSync(fd).size;
  put({ op: "write", id, path, position: at }, slice(bytes, offset, length));
  const written = original.writeSync(fd, bytes, offset, length, position);
  put({ op: "done", id });
  return written;
};

for (const name of ["fdatasync", "fsync"])
  fs[name] = (fd, callback) => {
    const path = open.get(fd);
    if (path === undefined) return original[name](fd, callback);
    const id = ++operations;
    put({ op: "sync", id, path });
    original[name](fd, (error) => {
      if (!error) put({ op: "done", id });
      callback(error);
    });
  };
fs.ftruncate = (fd, size, callback) => {
  const path = open.get(fd);
  if (path !== undefined) put({ op: "truncate", path, size });
  return original.ftruncate(fd, size, callback);
};

fs.promises.rename = async (from, to) => {
  if (!isRecorded(from)) return original.promises.rename(from, to);
  await around({ op: "rename", path: resolve(from), to: resolve(to) }, () => original.promises.rename(from, to));
  for (const [fd, path] of open) if (path === resolve(from)) open.set(fd, resolve(to));
};
for (const name of ["rm", "unlink"])
  fs.promises[name] = (path, ...rest) =>
    isRecorded(path)
      ? around({ op: "remove", path: resolve(path) }, () => original.promises[name](path, ...rest))
      : original.promises[name](path, ...rest);
fs.promises.open = async (path, flags, mode) => {
  const handle = await original.promises.open(path, flags, mode);
  if (!inFolder(path)) return handle;
  opened(path, flags ?? "r", handle.fd);
  const { fd } = handle;
  const [writeFile, sync, close] = ["writeFile", "sync", "close"].map((name) => handle[name].bind(handle));
  handle.writeFile = (text, options) => {
    const id = ++operations;
    put({ op: "write", id, path: open.get(fd), position: 0 }, Buffer.from(text));
    return writeFile(text, options).then(() => put({ op: "done", id }));
  };
  handle.sync = () => around({ op: "sync", path: open.get(fd) }, sync);
  handle.close = () => {
    open.delete(fd);
    return close();
  };
  return handle;
};
syncBuiltinESMExports();
