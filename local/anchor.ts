/** Checkpoints of `--audit-anchor`: appended to a file as JSON lines, or posted to a URL as text. */
import { createReadStream } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type { CheckpointAnchor } from "../lib/audit/checkpoint.ts";
import { describeCause } from "../lib/kit/fetch_failure.ts";
import type { Clock } from "../lib/kit/platform.ts";

const PIECE = 64 * 1024;
const LONGEST_LINE = 1024 * 1024;
const BEGINNING = '{"at":"';

/** An anchor at a URL or in a file; throws with one line for people when neither can be used. */
export async function openAnchor(target: string, clock: Clock): Promise<CheckpointAnchor> {
  if (/^https?:/i.test(target)) return urlAnchor(target);
  try {
    await (await open(target, "a+")).close();
  } catch (error) {
    throw new Error(`--audit-anchor ${target} cannot be written: ${(error as NodeJS.ErrnoException).code}`);
  }
  return fileAnchor(target, clock);
}

/** Lines of `{"at", "checkpoint"}`. The file is best on another machine's disk, append-only. */
function fileAnchor(path: string, clock: Clock): CheckpointAnchor {
  let known = 0;
  return {
    name: path,
    async append(note) {
      const line = `${JSON.stringify({ at: new Date(clock.now()).toISOString(), checkpoint: note })}\n`;
      await using(path, async (file) => {
        if ((await file.stat()).size < known) throw new Error(`the anchor ${path} is shorter than it was`);
        // A line that a crash cut short must not swallow this one.
        const end = await readEnd(file, 1);
        await file.appendFile(end === "" || end === "\n" ? line : `\n${line}`);
        await file.datasync();
        known = (await file.stat()).size;
      });
    },
    async *readAll() {
      let rest = "";
      known = 0;
      for await (const piece of createReadStream(path, { highWaterMark: PIECE }) as AsyncIterable<Buffer>) {
        known += piece.length;
        // Latin-1 keeps characters whole that a piece divides; a line becomes UTF-8 again as one.
        const lines = (rest + piece.toString("latin1")).split("\n");
        rest = lines.pop()!;
        if (rest.length > LONGEST_LINE) throw new Error(`${path} has a line over ${LONGEST_LINE} bytes`);
        yield lines.map(checkpointOf).filter((note) => note !== undefined);
      }
      yield [checkpointOf(rest)].filter((note) => note !== undefined);
    },
  };
}

async function using<T>(path: string, run: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await open(path, "a+");
  try {
    return await run(file);
  } finally {
    await file.close();
  }
}

async function readEnd(file: FileHandle, length: number): Promise<string> {
  const { size } = await file.stat();
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, Math.max(0, size - length));
  return buffer.toString("utf8", 0, bytesRead);
}

/** The note of a line, `""` when it holds none; undefined for a line that a crash cut short, which the next one ended. */
function checkpointOf(line: string): string | undefined {
  try {
    const { checkpoint } = JSON.parse(Buffer.from(line, "latin1").toString()) as { checkpoint?: unknown };
    return typeof checkpoint === "string" ? checkpoint : "";
  } catch {
    const beginsAsOurs = BEGINNING.startsWith(line.slice(0, BEGINNING.length));
    return beginsAsOurs ? undefined : "";
  }
}

/** The note is the body of a POST; any 2xx means kept. It cannot be read back. */
function urlAnchor(target: string): CheckpointAnchor {
  if (!URL.canParse(target)) throw new Error(`--audit-anchor ${target} is not a URL`);
  const { username, password } = new URL(target);
  if (username !== "" || password !== "")
    throw new Error("--audit-anchor must not carry a user name or password in its URL");
  return {
    name: target,
    async append(note, signal) {
      const response = await fetch(target, {
        method: "POST",
        headers: { "content-type": "text/plain; charset=utf-8" },
        body: note,
        redirect: "error",
        signal,
      }).catch((error: unknown) => {
        throw new Error(`the anchor cannot be reached: ${describeCause(error)}`);
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`the anchor answered ${response.status}`);
    },
    readAll: () => undefined,
  };
}
