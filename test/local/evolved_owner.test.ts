/** Tests which log a folder of self-evolution files belongs to, so that two services never share one. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claimEvolvedFolder, SharedFolder } from "../../local/evolved_owner.ts";

let folder: string;
let marker: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "evolved-owner-"));
  marker = join(folder, ".log-origin");
});
afterEach(() => rm(folder, { recursive: true }));

/** Claims the folder for a log. `state`: the name of its state if it is a default folder; absent for `--evolved-dir`. */
const claim = (origin: string, state?: string) => claimEvolvedFolder(folder, { origin, state });
const readMarker = () => readFile(marker, "utf8");

test("a folder belongs to the log that claimed it first", async () => {
  await claim("a");
  await claim("a");
  await claim("a", "state.json");
  await expect(claim("b")).rejects.toThrow(/^has the files of another service, with the log a; give each/);
  expect(await readMarker()).toBe("a\n");
  expect(await readdir(folder)).toEqual([".log-origin"]);
});

test("a default folder is taken over only by the next log of the same state", async () => {
  await claim("a", "state.json");
  await claim("b", "state.json");
  expect(await readMarker()).toBe("b\nstate.json\n");
  for (const state of ["state", undefined]) await expect(claim("c", state)).rejects.toThrow(SharedFolder);
  await claim("b");
  expect(await readMarker()).toBe("b\nstate.json\n");
});

test("a default folder that is the --evolved-dir of another service remains its folder", async () => {
  await claim("a");
  await expect(claim("b", "state.json")).rejects.toThrow("has the files of another service, with the log a;");
  expect(await readMarker()).toBe("a\n");
});

test.each(["", "\n"])("a marker with the content %j names no owner", async (content) => {
  await writeFile(marker, content);
  await claim("a");
  expect(await readMarker()).toBe("a\n");
  await expect(claim("b")).rejects.toThrow(SharedFolder);
});

test("of two services that claim a folder concurrently, all processes of one succeed", async () => {
  const claims = await Promise.allSettled(["a", "b", "a", "b"].map((origin) => claim(origin)));
  const winner = (await readMarker()).trim();
  const other = winner === "a" ? "b" : "a";
  expect(claims.map(({ status }) => status === "fulfilled")).toEqual(
    ["a", "b", "a", "b"].map((origin) => origin === winner),
  );
  for (const { reason } of claims.filter((result) => result.status === "rejected"))
    expect((reason as Error).message).toContain(`with the log ${winner};`);
  await expect(claim(other)).rejects.toThrow(SharedFolder);
});

test.each([
  ["pipe", () => execFileSync("mkfifo", [marker])],
  ["folder", () => mkdir(marker)],
])("a marker that is a %s is rejected, and not waited for", async (_kind, createMarker) => {
  await createMarker();
  await expect(claim("a")).rejects.toThrow(".log-origin is no regular file; remove it");
  await expect(claim("a", "state.json")).rejects.toThrow(SharedFolder);
});
