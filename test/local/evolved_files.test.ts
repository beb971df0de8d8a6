/** Tests the files of self-evolution: which are written, listed, served and deleted, and which names are rejected. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { link, mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { evolvedFile } from "../../handlers/evolved_file.ts";
import { evolved } from "../../handlers/evolved.ts";
import { evolvedFiles } from "../../local/evolved_files.ts";
import { openDeps } from "../support/deps.ts";

async function makeFolder() {
  const root = await mkdtemp(join(tmpdir(), "evolved-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const folder = join(root, "evolved");
  return { root, folder, files: evolvedFiles(folder) };
}

/** Opens the endpoints that serve a folder. */
async function openEndpoints() {
  const opened = await makeFolder();
  const deps = await openDeps({ evolved: opened.files });
  const request = (path: string, method = "GET") => {
    const handler = path === "/api/evolved" ? evolved(deps) : evolvedFile(deps);
    return handler(new Request(`http://127.0.0.1:8420${path}`, { method }));
  };
  return { ...opened, request };
}

test("before the first write no folder is created, the list is empty and no file is found", async () => {
  const { root, request } = await openEndpoints();
  expect(await (await request("/api/evolved")).json()).toEqual({ files: [] });
  expect((await request("/api/evolved/report-2026-W01.md")).status).toBe(404);
  expect(await readdir(root)).toEqual([]);
});

test("written files can be read, and are listed newest first with size, hash and kind", async () => {
  const { folder, files, request } = await openEndpoints();
  const texts = {
    "retrospective-chg_1.md": "één\n",
    "report-2026-W01.md": "week",
    "notes.txt": "x",
  };
  for (const [index, [name, text]] of Object.entries(texts).entries()) {
    await files.write(name, text);
    await utimes(join(folder, name), 1000 + index, 1000 + index);
  }
  const list = (await (await request("/api/evolved")).json()).files;
  expect(list.map(({ name, kind }: { name: string; kind: string }) => [name, kind])).toEqual([
    ["notes.txt", "other"],
    ["report-2026-W01.md", "report"],
    ["retrospective-chg_1.md", "retrospective"],
  ]);
  expect(list[2]).toEqual({
    name: "retrospective-chg_1.md",
    bytes: 6,
    sha256: createHash("sha256").update("één\n").digest("hex"),
    modified_at: "1970-01-01T00:16:40.000Z",
    kind: "retrospective",
  });
  const markdown = await request("/api/evolved/retrospective-chg_1.md");
  expect(await markdown.text()).toBe("één\n");
  expect(markdown.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
  expect(markdown.headers.get("x-content-type-options")).toBe("nosniff");
  expect(markdown.headers.get("content-security-policy")).toBe("default-src 'none'; sandbox");
  const other = await request("/api/evolved/notes.txt");
  expect(other.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  const head = await request("/api/evolved/notes.txt", "HEAD");
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test("a changed file is hashed again", async () => {
  const { files } = await makeFolder();
  await files.write("report-2026-W02.md", "one");
  const [first] = await files.list();
  expect(await files.list()).toEqual([first]);
  await files.write("report-2026-W02.md", "two");
  const [second] = await files.list();
  expect(second!.sha256).toBe(createHash("sha256").update("two").digest("hex"));
});

const OUTSIDE = "outside";

test.each([
  "..%2Fsecret.md",
  "%2e%2e%2fsecret.md",
  "..",
  ".",
  "%2Fetc%2Fpasswd",
  "..%5Csecret.md",
  "secret.md%00.txt",
  ".hidden",
  "-rf",
  "a".repeat(129),
  "a%0Ab",
  "link.md",
  "folder",
  "pipe.md",
  "big.md",
  "é.md",
  "%ff",
])("%s is not found", async (name) => {
  const { root, folder, request } = await openEndpoints();
  await mkdir(join(folder, "folder"), { recursive: true });
  await writeFile(join(root, "secret.md"), OUTSIDE);
  await writeFile(join(folder, ".hidden"), OUTSIDE);
  await symlink(join(root, "secret.md"), join(folder, "link.md"));
  execFileSync("mkfifo", [join(folder, "pipe.md")]);
  await writeFile(join(folder, "big.md"), Buffer.alloc(1024 * 1024 + 1));
  const response = await request(`/api/evolved/${name}`);
  expect(response.status).toBe(404);
  expect(await response.text()).not.toContain(OUTSIDE);
  expect(await (await request("/api/evolved")).json()).toEqual({ files: [] });
});

test("a write replaces a symbolic link, and does not change the link's target", async () => {
  const { root, folder, files } = await makeFolder();
  await mkdir(folder);
  await writeFile(join(root, "target"), "precious");
  await symlink(join(root, "target"), join(folder, "report-2026-W02.md"));
  await files.write("report-2026-W02.md", "new");
  expect(await readFile(join(root, "target"), "utf8")).toBe("precious");
  expect(await files.read("report-2026-W02.md")).toBe("new");
});

test("a reader with the file open sees the old or the new text, never a mixture", async () => {
  const { folder, files } = await makeFolder();
  await files.write("report-2026-W02.md", "a".repeat(100_000));
  await link(join(folder, "report-2026-W02.md"), join(folder, ".before"));
  await files.write("report-2026-W02.md", "b");
  expect(await readFile(join(folder, ".before"), "utf8")).toBe("a".repeat(100_000));
  expect(await files.read("report-2026-W02.md")).toBe("b");
});

test.each(["../x.md", "", ".x", "a/b.md", "a\nb", "a".repeat(129)])("the file name %j is rejected", async (name) => {
  const { root, folder, files } = await makeFolder();
  await expect(files.write(name, "x")).rejects.toThrow("is not a name for a self-evolution file");
  expect(await readdir(root)).toEqual([]);
  await expect(readdir(folder)).rejects.toThrow("ENOENT");
});

test("the service's oldest files are deleted, and never files of other programs", async () => {
  const { folder } = await makeFolder();
  const files = evolvedFiles(folder, { files: 3, bytes: 1000 });
  await mkdir(folder);
  await writeFile(join(folder, "other-program.txt"), "x");
  await utimes(join(folder, "other-program.txt"), 1, 1);
  for (let number = 1; number <= 6; number++) {
    await files.write(`retrospective-${number}.md`, "x");
    await utimes(join(folder, `retrospective-${number}.md`), 1000 + number, 1000 + number);
  }
  await files.write("report-2026-W02.md", "x");
  expect((await readdir(folder)).sort()).toEqual([
    "other-program.txt",
    "report-2026-W02.md",
    "retrospective-5.md",
    "retrospective-6.md",
  ]);
});

test("a failed write leaves no temporary file", async () => {
  const { folder, files } = await makeFolder();
  // A folder with the name of the file makes the write fail.
  await mkdir(join(folder, "report-2026-W02.md"), { recursive: true });
  await expect(files.write("report-2026-W02.md", "x")).rejects.toThrow();
  expect(await readdir(folder)).toEqual(["report-2026-W02.md"]);
});
