/** Tests the anchor of checkpoints: a file to which they are appended, or a URL to which they are sent. */
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, expect, onTestFinished, test } from "vitest";
import type { CheckpointAnchor } from "../../lib/audit/checkpoint.ts";
import { openAnchor } from "../../local/anchor.ts";
import { testClock } from "../support/clock.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-anchor-"));
afterAll(() => rmSync(folder, { recursive: true }));
const clock = testClock();
const { signal } = new AbortController();
const NOTES = ["a\n1\nroot\n\n— a signature\n", "a\n2\nroot\n\n"];

async function readPages({ readAll }: CheckpointAnchor): Promise<(readonly string[])[]> {
  const pages = [];
  for await (const page of readAll()!) pages.push(page);
  return pages;
}

const readCheckpoints = async (path: string) => (await readPages(await openAnchor(path, clock))).flat();

test("a file anchor writes each checkpoint as a line, and reads all of them", async () => {
  const path = join(folder, "anchor.jsonl");
  const anchor = await openAnchor(path, clock);
  expect(await readCheckpoints(path)).toEqual([]);
  for (const note of NOTES) await anchor.append(note, signal);
  const lines = readFileSync(path, "utf8").split("\n");
  expect(lines.pop()).toBe("");
  expect(lines.map((line) => JSON.parse(line))).toEqual(NOTES.map((checkpoint) => ({ at: clock.iso(), checkpoint })));
  expect(await readCheckpoints(path)).toEqual(NOTES);
});

test("a truncated last line is skipped, and the next checkpoint starts a new line", async () => {
  const path = join(folder, "torn.jsonl");
  const anchor = await openAnchor(path, clock);
  await anchor.append(NOTES[0]!, signal);
  appendFileSync(path, '{"at":"2026');
  expect(await readCheckpoints(path)).toEqual([NOTES[0]]);
  await anchor.append(NOTES[1]!, signal);
  expect(await readCheckpoints(path)).toEqual(NOTES);
  // Two checkpoints, the truncated line between them, and the empty text after the last line end.
  expect(readFileSync(path, "utf8").split("\n")).toHaveLength(4);
});

test("a long file is read in pages; a complete line that is not a checkpoint gives an empty text", async () => {
  const path = join(folder, "long.jsonl");
  // A character of two bytes may be cut between two reads.
  const note = `ä${"x".repeat(1000)}`;
  writeFileSync(path, `${JSON.stringify({ checkpoint: note })}\n`.repeat(500));
  // Four invalid lines, then an empty and a truncated one, which are skipped.
  appendFileSync(path, 'not JSON\nnull\n{}\n7\n\n{"at":"x","checkpoint":"');
  const pages = await readPages(await openAnchor(path, clock));
  expect(Math.max(...pages.map((page) => page.length))).toBeLessThan(100);
  expect(pages.flat()).toEqual([...Array<string>(500).fill(note), "", "", "", ""]);
});

test("an append to a file that became shorter fails until the file is read again", async () => {
  const path = join(folder, "shorter.jsonl");
  const anchor = await openAnchor(path, clock);
  for (const note of NOTES) await anchor.append(note, signal);
  writeFileSync(path, "");
  await expect(anchor.append(NOTES[0]!, signal)).rejects.toThrow(`${path} is shorter than it was`);
  expect(await readPages(anchor)).toEqual([[]]);
  await anchor.append(NOTES[0]!, signal);
  expect(await readCheckpoints(path)).toEqual([NOTES[0]]);
});

test("a file that cannot be written stops the start with an error that names it", async () => {
  const path = join(folder, "none", "anchor.jsonl");
  await expect(openAnchor(path, clock)).rejects.toThrow(`--audit-anchor ${path} cannot be written: ENOENT`);
});

/** Starts a server that answers each request with a status and records the requests. */
async function startWitness(status: number, headers: Record<string, string> = {}) {
  const requests: { method: string | undefined; type: string | undefined; body: string }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ method: request.method, type: request.headers["content-type"], body });
      response.writeHead(status, headers).end("thanks");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  return { requests, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/checkpoints` };
}

test("a checkpoint is sent to a URL as text, and a URL is never read", async () => {
  const { requests, url } = await startWitness(202);
  const anchor = await openAnchor(url, clock);
  await anchor.append(NOTES[0]!, signal);
  expect(requests).toEqual([{ method: "POST", type: "text/plain; charset=utf-8", body: NOTES[0] }]);
  expect(anchor.readAll()).toBeUndefined();
});

test.each([
  [500, {}, "the anchor answered 500"],
  [302, { location: "http://127.0.0.1:1/" }, "the anchor cannot be reached: unexpected redirect"],
])("status %i is a failure, like any status other than 2xx", async (status, headers, message) => {
  const { url } = await startWitness(status, headers);
  await expect((await openAnchor(url, clock)).append(NOTES[0]!, signal)).rejects.toThrow(message);
});

test("an append to a URL that does not answer ends when its signal is aborted", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const anchor = await openAnchor(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, clock);
  const aborting = new AbortController();
  server.once("request", () => aborting.abort());
  await expect(anchor.append(NOTES[0]!, aborting.signal)).rejects.toThrow();
});

test("an invalid URL is rejected at start", async () => {
  await expect(openAnchor("https://", clock)).rejects.toThrow("is not a URL");
});

test("an append to a URL with no server fails with the cause of the connection error", async () => {
  const { url } = await startWitness(200);
  const anchor = await openAnchor(url.replace(/:\d+/, ":1"), clock);
  await expect(anchor.append(NOTES[0]!, signal)).rejects.toThrow(/^the anchor cannot be reached: \w+/);
  await expect(anchor.append(NOTES[0]!, signal)).rejects.not.toThrow("fetch failed");
});

test.each(["me:hunter2", "me"])(
  "credentials in the URL, %s, are rejected at start and do not appear in the error",
  async (user) => {
    await expect(openAnchor(`https://${user}@witness.example/`, clock)).rejects.toThrow(
      /^--audit-anchor must not carry a user name or password in its URL$/,
    );
  },
);
