/** Tests the bytes of a config file: odd names, content of other programs, broken files, and how a write replaces the file. */
import { randomUUID } from "node:crypto";
import * as fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import type { Files } from "../../../../local/targets/atomic_file.ts";
import { openFileAdapter, neverAborted, change, NOW } from "./open_file_adapter.ts";

const a = change("chg_a");

test.each(["__proto__", "constructor", "toString", "a.b.c", "é\u0301 日本語 \u{1F980}", "0", 'a "quoted"\nline'])(
  "the name %j is stored as data, as tenant and as target",
  async (name) => {
    const { adapter, apply, rollback, verify, text, content } = await openFileAdapter();
    const sameNames = change("chg_h", { tenant_id: name, target: name, value: JSON.parse('{"__proto__":{"x":1}}') });
    const [otherTarget, otherTenant] = [change("chg_b", { tenant_id: name }), change("chg_u", { target: name })];
    for (const each of [sameNames, otherTarget, otherTenant]) {
      expect(await verify(each)).toBe("absent");
      expect(await adapter.validate(each, neverAborted)).toMatchObject({ preview: { present_before: false } });
      await apply(each);
      expect(await verify(each)).toBe("applied");
    }
    const { values } = await content();
    expect(Object.hasOwn(values, name) && Object.hasOwn(values[name], name)).toBe(true);
    expect(JSON.stringify(values[name][name])).toBe('{"__proto__":{"x":1}}');
    expect(({} as Record<string, unknown>).x).toBeUndefined();

    const newer = change("chg_2", { tenant_id: name, target: name });
    await apply(newer);
    expect(await rollback(sameNames)).toBe("superseded");
    for (const each of [newer, otherTarget, otherTenant]) await rollback(each);
    expect((await content()).values).toEqual({});
    expect(await text()).not.toContain("value of");
  },
);

test("content of other programs stays, anywhere in the file", async () => {
  const { apply, rollback, text, write } = await openFileAdapter();
  const content = `{
    "port": 3000, "__proto__": { "admin": true }, "format": "countersign-product-config/1", "note": "ours",
    "values": { "t1": { "kept": [1.50, -0.0, 1e3, 12345678901234567000], "__proto__": 1 }, "t2": "anything", "__proto__": { "y": {} } },
    "changes": { "chg_a": { "state": "applied", "target": "ui.banner", "tenant_id": "t1", "ticket": "T-7" } }
  }`;
  await write(content);
  await apply(change("chg_b"));
  const after = JSON.parse(await text());
  const before = JSON.parse(content);
  expect(after).toMatchObject({ port: 3000, note: "ours" });
  expect(JSON.stringify(after["__proto__"])).toBe('{"admin":true}');
  expect(after.changes.chg_a).toEqual(before.changes.chg_a);
  await rollback(change("chg_b"));
  expect(JSON.stringify(JSON.parse(await text()).values)).toBe(JSON.stringify(before.values));

  // A member that another program adds to the adapter's own entry stays too.
  await write(JSON.parse(await text().then((fileText) => fileText.replace('"kind": "config"', '"ticket": "T-8"'))));
  await apply(change("chg_b"));
  expect(JSON.parse(await text()).changes.chg_b.ticket).toBe("T-8");
});

test.each([
  ["cut off", '{"values": {"t1": {"secret', "is not valid JSON"],
  ["a list", "[]", "does not hold a JSON object"],
  ["null", "null", "does not hold a JSON object"],
  ["a repeated member", '{"values": {}, "values": {"t1": {"secret": 1}}}', 'repeats the member "values"'],
  ["another format", '{"format": "secret/2"}', "has another format than countersign-product-config/1"],
  ["a numeric product", '{"product_id": 7}', "product_id is not text"],
  ["a text revision", '{"revision": "secret"}', "revision is not a whole number"],
  ["a negative revision", '{"revision": -1}', "revision is not a whole number"],
  ["values a list", '{"values": ["secret"]}', "values is not an object"],
  ["values null", '{"values": null}', "values is not an object"],
  ["the tenant's values a text", '{"values": {"t1": "secret"}}', 'values["t1"] is not an object'],
  ["changes a list", '{"changes": []}', "changes is not an object"],
  ["an entry a text", '{"changes": {"chg_x": "secret"}}', 'changes["chg_x"] is not an object'],
  ["an entry without state", '{"changes": {"chg_x": {"target": "secret"}}}', 'changes["chg_x"].state is not text'],
  [
    "an odd superseder",
    '{"changes": {"chg_x": {"state": "applied", "target": "x", "tenant_id": "t", "superseded_by": 1}}}',
    "superseded_by is not text",
  ],
  [
    "a number that would be rounded",
    '{"values": {"t2": {"id": 12345678901234567891}}}',
    'a number that would be rounded when written again, at "values.t2.id"',
  ],
  ["a rounded fraction", '{"share": 0.12345678901234567890}', 'would be rounded when written again, at "share"'],
  ["a number rounded to 0", '{"share": 1e-400}', 'would be rounded when written again, at "share"'],
  ["a number too big", '{"port": 1e999}', "a number that is too large"],
  ["bytes that are no UTF-8", Buffer.from('{"x": "\xe9"}', "latin1"), "it is not UTF-8 text"],
])("a broken file is rejected, and its bytes stay: %s", async (_, text, message) => {
  const { adapter, apply, path, folder } = await openFileAdapter();
  await apply(a);
  await fs.writeFile(path, text);
  for (const operation of [adapter.validate, adapter.apply, adapter.verify, adapter.rollback]) {
    const error: Error = await operation(a, neverAborted).then(
      () => expect.unreachable(),
      (thrown) => thrown,
    );
    expect(error.message).toContain('product config file "product.json"');
    expect(error.message).toContain(message);
    expect(error.message).toMatch(/; (?:correct it or move it|write the number as text or move the file) away$/);
    expect(error.message).not.toMatch(/secret/);
    expect(error.message).not.toContain(folder);
  }
  expect(await fs.readFile(path)).toEqual(Buffer.from(text));
  expect(await fs.readdir(folder)).toEqual(["product.json"]);
});

test("a rollback without a record of the previous value is rejected", async () => {
  const { adapter, write, content } = await openFileAdapter();
  const foreign = {
    values: { t1: { "ui.banner": "x" } },
    changes: { chg_a: { state: "applied", target: "ui.banner", tenant_id: "t1" } },
  };
  await write(foreign);
  await expect(adapter.rollback({ ...a, status: "applied" }, neverAborted)).rejects.toThrow(
    /what chg_a replaced is not on record/,
  );
  expect(await content()).toEqual(foreign);
});

test("a path below a file is rejected by validate and apply with a clear error", async () => {
  const { adapter, folder } = await openFileAdapter({ path: "file/product.json" });
  await fs.writeFile(join(folder, "file"), "");
  for (const operation of [adapter.validate, adapter.apply]) {
    const error: Error = await operation(a, neverAborted).then(
      () => expect.unreachable(),
      (thrown) => thrown,
    );
    expect(error.message).toBe(
      'product config file "product.json" cannot be used: a part of its path is a file, not a folder (ENOTDIR); name a file in a folder',
    );
  }
});

test("a file that cannot be read is not treated as missing", async () => {
  const accessError = Object.assign(new Error("EACCES: permission denied, open '/x'"), { code: "EACCES" });
  const { apply, open, path, write, text } = await openFileAdapter();
  await apply(a);
  await write({ port: 1 });
  const adapter = open({ files: { ...fs, readFile: () => Promise.reject<never>(accessError) } });
  for (const operation of [adapter.validate, adapter.apply, adapter.verify, adapter.rollback])
    await expect(operation(a, neverAborted)).rejects.toThrow(
      /"product.json" cannot be used: permission is denied \(EACCES\)/,
    );
  expect(await text()).toBe('{"port":1}');
  expect(await fs.readdir(dirname(path))).toEqual(["product.json"]);
});

test("validate rejects a folder that cannot be written", async () => {
  const accessError = Object.assign(new Error("EACCES: permission denied, access '/x'"), { code: "EACCES" });
  const { adapter } = await openFileAdapter({ files: { ...fs, access: () => Promise.reject(accessError) } });
  await expect(adapter.validate(a, neverAborted)).rejects.toThrow(
    /"product.json" cannot be used: permission is denied \(EACCES\); let the service's user/,
  );
});

test("a store that cannot write fails the apply before the file is touched, with its own error", async () => {
  const { adapter, store, folder } = await openFileAdapter();
  await store.close();
  await expect(adapter.apply(a, neverAborted)).rejects.toMatchObject({ name: "StoreUnavailable" });
  expect(await fs.readdir(folder)).toEqual([]);
});

test("the file's mode and symbolic link stay", async () => {
  const { apply, path, folder } = await openFileAdapter();
  await fs.mkdir(join(folder, "real"));
  await fs.writeFile(join(folder, "real", "config.json"), "{}");
  await fs.chmod(join(folder, "real", "config.json"), 0o640);
  await fs.symlink("real/config.json", path);
  await apply(a);
  expect((await fs.lstat(path)).isSymbolicLink()).toBe(true);
  expect((await fs.stat(path)).mode & 0o777).toBe(0o640);
  expect(await fs.readFile(join(folder, "real", "config.json"), "utf8")).toContain("chg_a");
  expect(await fs.readdir(join(folder, "real"))).toEqual(["config.json"]);
});

/** Returns real files with a hook that runs after the temporary file is created, and before the rename. */
const withHook = (hook: () => unknown): { files: Files } => ({
  files: {
    ...fs,
    open: async (path, flags, mode) => {
      const handle = await fs.open(path, flags, mode);
      if (flags === "wx") await hook();
      return handle;
    },
  },
});

test("an aborted operation stops before the rename and leaves no file", async () => {
  const { apply, open, text, folder, verify } = await openFileAdapter();
  await apply(a);
  const before = await text();
  const controller = new AbortController();
  // The apply is aborted after its temporary file is created; the other operations begin aborted.
  const adapter = open(withHook(() => controller.abort(new Error("time is up"))));
  for (const operation of [adapter.apply, adapter.rollback, adapter.verify, adapter.validate])
    await expect(operation(operation === adapter.rollback ? a : change("chg_b"), controller.signal)).rejects.toThrow(
      /^product config file "product.json": stopped before it was replaced/,
    );
  expect(await text()).toBe(before);
  expect(await fs.readdir(folder)).toEqual(["product.json"]);
  expect([await verify(a), await verify(change("chg_b"))]).toEqual(["applied", "absent"]);
});

test("an edit made between reading and replacing is not lost", async () => {
  const { open, content, write, folder, store } = await openFileAdapter();
  let edits = 0;
  const edit = async () => {
    if (edits++ === 0) await write({ values: { t1: { "ui.banner": "by hand" } }, note: 1 });
  };
  const adapter = open(withHook(edit));
  await adapter.apply(a, neverAborted);
  expect(await content()).toMatchObject({ note: 1, values: { t1: { "ui.banner": "value of chg_a" } } });
  await adapter.rollback(a, neverAborted);
  expect((await content()).values).toEqual({ t1: { "ui.banner": "by hand" } });
  expect(await fs.readdir(folder)).toEqual(["product.json"]);
  // The adapter's records of previous values.
  expect(await store.list("effects", { limit: 10 })).not.toEqual([]);
});

test("an apply to a file that another program keeps writing fails, and leaves the file", async () => {
  const { open, content, write, folder } = await openFileAdapter();
  let edits = 0;
  const adapter = open(withHook(() => write({ edits: ++edits })));
  await expect(adapter.apply(a, neverAborted)).rejects.toThrow(/was written by another program at every try/);
  // The adapter tries five times.
  expect(await content()).toEqual({ edits: 5 });
  expect(await fs.readdir(folder)).toEqual(["product.json"]);
});

test("temporary files of killed processes are removed, and no others", async () => {
  const { open, folder } = await openFileAdapter();
  const oldTemporary = `.product.json.${randomUUID()}.tmp`;
  const newTemporary = `.product.json.${randomUUID()}.tmp`;
  const others = [`.other.json.${randomUUID()}.tmp`, ".product.json.mine.tmp", "product.json.tmp"];
  for (const name of [oldTemporary, newTemporary, ...others]) await fs.writeFile(join(folder, name), "{");
  // Temporary files that are older than a minute belong to killed processes.
  for (const name of [oldTemporary, ...others]) await fs.utimes(join(folder, name), NOW / 1000 - 61, NOW / 1000 - 61);
  await fs.utimes(join(folder, newTemporary), NOW / 1000 - 59, NOW / 1000 - 59);
  await open().apply(a, neverAborted);
  expect((await fs.readdir(folder)).sort()).toEqual([newTemporary, ...others, "product.json"].sort());
});

test("a reader never sees a partial file", async () => {
  const { apply, rollback, path } = await openFileAdapter();
  await apply(change("chg_0", { value: "x".repeat(50_000) }));
  const reader = new Worker(
    `const { readFileSync } = require("node:fs");
     const { parentPort, workerData } = require("node:worker_threads");
     let stop = false, reads = 0, newest = 0;
     parentPort.on("message", () => (stop = true));
     (function read() {
       for (let i = 0; i < 20; i++) {
         const { revision } = JSON.parse(readFileSync(workerData, "utf8"));
         if (revision < newest) throw new Error("revision " + revision + " after " + newest);
         newest = revision;
         reads++;
       }
       if (reads === 20) parentPort.postMessage("reading");
       if (stop) { parentPort.postMessage({ reads, newest }); parentPort.close(); } else setImmediate(read);
     })();`,
    { eval: true, workerData: path },
  );
  const nextMessage = () => new Promise((resolve, reject) => reader.once("message", resolve).once("error", reject));
  await nextMessage();
  const finished = nextMessage();
  for (let i = 1; i <= 150; i++) {
    await apply(change(`chg_${i}`, { value: "y".repeat(i * 300) }));
    await rollback(change(`chg_${i}`, { value: "y".repeat(i * 300) }));
  }
  reader.postMessage("stop");
  // The revision of the first apply, and two of each round.
  expect(await finished).toMatchObject({ newest: 301 });
});

test("a write syncs a temporary file next to the file, renames it, and syncs the folder", async () => {
  const calls: string[] = [];
  const tracingFiles: Files = {
    ...fs,
    open: async (path, flags, mode) => {
      const handle = await fs.open(path, flags, mode);
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        calls.push(flags === "wx" ? "sync temporary file" : `sync ${basename(String(path))}`);
        await sync();
      };
      return handle;
    },
    rename: async (from, to) => {
      calls.push(`rename to ${basename(String(to))}`);
      await fs.rename(from, to);
    },
  };
  const { adapter } = await openFileAdapter({ path: "new/deep/product.json", files: tracingFiles });
  await adapter.apply(a, neverAborted);
  expect(calls.slice(0, 5)).toEqual([
    "sync temporary file",
    "rename to product.json",
    "sync deep",
    "sync new",
    // The folder of this test.
    expect.stringMatching(/^sync file-adapter-/),
  ]);
  await adapter.rollback(a, neverAborted);
  expect(calls.slice(5)).toEqual(["sync temporary file", "rename to product.json", "sync deep"]);
});
