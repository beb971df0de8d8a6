/** Stores checkpoints outside the service (`--audit-anchor`): appends them to a file as JSON lines, or posts them to a URL. */
import { createReadStream } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import type { CheckpointAnchor } from "../lib/audit/checkpoint.ts";
import { describeCause } from "../lib/kit/fetch_failure.ts";
import type { Clock } from "../lib/kit/platform.ts";

const CHUNK_BYTES = 64 * 1024;
const MAX_LINE_BYTES = 1024 * 1024;
/** Beginning of each line that the service writes. */
const ENTRY_PREFIX = '{"at":"';

/** Opens an anchor at a URL or in a file. Errors: one line for people where it cannot be used. */
export async function openAnchor(urlOrPath: string, clock: Clock): Promise<CheckpointAnchor> {
  if (/^https?:/i.test(urlOrPath)) return urlAnchor(urlOrPath);
  try {
    await (await open(urlOrPath, "a+")).close();
  } catch (error) {
    throw new Error(`--audit-anchor ${urlOrPath} cannot be written: ${(error as NodeJS.ErrnoException).code}`);
  }
  return fileAnchor(urlOrPath, clock);
}

/** Appends lines of `{"at", "checkpoint"}`. The file is best append-only, on another machine's disk. */
function fileAnchor(path: string, clock: Clock): CheckpointAnchor {
  let knownSize = 0;
  return {
    name: path,
    async append(note) {
      const line = `${JSON.stringify({ at: new Date(clock.now()).toISOString(), checkpoint: note })}\n`;
      await useFile(path, async (file) => {
        if ((await file.stat()).size < knownSize) throw new Error(`the anchor ${path} is shorter than it was`);
        // If a crash cut the last line, a line break comes first.
        const end = await readEnd(file, 1);
        await file.appendFile(end === "" || end === "\n" ? line : `\n${line}`);
        await file.datasync();
        knownSize = (await file.stat()).size;
      });
    },
    async *readAll() {
      let rest = "";
      knownSize = 0;
      for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
        knownSize += chunk.length;
        // A chunk may end within a UTF-8 character: bytes stay Latin-1 text until the line is complete.
        const lines = (rest + chunk.toString("latin1")).split("\n");
        rest = lines.pop()!;
        if (rest.length > MAX_LINE_BYTES) throw new Error(`${path} has a line over ${MAX_LINE_BYTES} bytes`);
        yield lines.map(parseAnchorLine).filter((note) => note !== undefined);
      }
      yield [parseAnchorLine(rest)].filter((note) => note !== undefined);
    },
  };
}

async function useFile<T>(path: string, run: (file: FileHandle) => Promise<T>): Promise<T> {
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

/** Parses the checkpoint of a line; `""` for a line without one, undefined for an empty line or one that a crash cut. */
function parseAnchorLine(line: string): string | undefined {
  try {
    const { checkpoint } = JSON.parse(Buffer.from(line, "latin1").toString()) as { checkpoint?: unknown };
    return typeof checkpoint === "string" ? checkpoint : "";
  } catch {
    const isCutEntry = ENTRY_PREFIX.startsWith(line.slice(0, ENTRY_PREFIX.length));
    return isCutEntry ? undefined : "";
  }
}

/** Posts each checkpoint as a body; any 2xx means that it is stored. Checkpoints cannot be read back. */
function urlAnchor(url: string): CheckpointAnchor {
  if (!URL.canParse(url)) throw new Error(`--audit-anchor ${url} is not a URL`);
  const { username, password } = new URL(url);
  if (username !== "" || password !== "")
    throw new Error("--audit-anchor must not carry a user name or password in its URL");
  return {
    name: url,
    async append(note, signal) {
      const response = await fetch(url, {
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
