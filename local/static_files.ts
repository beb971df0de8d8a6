/** Serves the files of the user interface: no file outside their folder and no hidden file. */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import type { Sha256 } from "../lib/kit/platform.ts";
import { consoleHeaders } from "../lib/http/console_headers.ts";
import { findFileType } from "../lib/http/file_types.ts";

/** Error codes of a path that leads to no file. */
const ABSENT = ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"];

/** Answers a GET or HEAD for a file of the folder; undefined for any other request. */
export type StaticFiles = (request: Request) => Promise<Response | undefined>;

/** Serves `folder`, whose files are read at each request; index.html answers at `/`. Errors: Node's own for a folder that cannot be read. */
export async function staticFiles(folder: string, sha256: Sha256): Promise<StaticFiles> {
  const root = await realpath(folder);
  await readdir(root);
  const compressed = new Map<string, Buffer<ArrayBuffer>>();
  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") return undefined;
    const names = parseFileNames(new URL(request.url).pathname);
    const content = names && (await readWithin(root, names));
    if (!names || !content) return undefined;
    const name = names.at(-1)!;
    const hash = sha256(content).slice(0, 32);
    const encoding = chooseEncoding(request.headers.get("accept-encoding"), content);
    const etag = `"${hash}${encoding ? `-${encoding}` : ""}"`;
    const sharedHeaders = { ...consoleHeaders(name), etag, vary: "accept-encoding" };
    if (matchesTag(request.headers.get("if-none-match"), etag))
      return new Response(null, { status: 304, headers: sharedHeaders });
    const body = encoding ? await compress(content, { encoding, hash }) : content;
    const headers = {
      ...sharedHeaders,
      "content-type": findFileType(name),
      "content-length": String(body.length),
      ...(encoding && { "content-encoding": encoding }),
    };
    return new Response(request.method === "HEAD" ? null : body, { headers });
  };

  async function compress(content: Buffer<ArrayBuffer>, { encoding, hash }: { encoding: Encoding; hash: string }) {
    const key = `${encoding} ${hash}`;
    const cached = compressed.get(key);
    if (cached) return cached;
    const output = Buffer.from(await ENCODERS[encoding](content));
    if (compressed.size >= MAX_COMPRESSED) compressed.clear();
    compressed.set(key, output);
    return output;
  }
}

const ENCODERS = { br: promisify(brotliCompress), gzip: promisify(gzip) } as const;
type Encoding = keyof typeof ENCODERS;

/** Smaller files are not compressed. */
const MIN_COMPRESSED_BYTES = 500;
/** Maximum number of compressed files in memory. */
const MAX_COMPRESSED = 200;

/** Chooses Brotli or gzip, if the client accepts it; undefined for a file that is not compressed. */
function chooseEncoding(accepted: string | null, content: Buffer): Encoding | undefined {
  if (accepted === null || content.length < MIN_COMPRESSED_BYTES) return undefined;
  const acceptedNames = accepted.split(",").flatMap((one) => {
    const [name, quality] = one
      .trim()
      .toLowerCase()
      .split(/\s*;\s*q=/);
    return Number(quality ?? 1) > 0 ? [name] : [];
  });
  return (["br", "gzip"] as const).find((one) => acceptedNames.includes(one));
}

/** Splits a path into names; undefined where a name is hidden or could lead out of the folder. */
function parseFileNames(pathname: string): string[] | undefined {
  if (pathname === "/") return ["index.html"];
  try {
    const names = pathname.slice(1).split("/").map(decodeURIComponent);
    return names.every((name) => /^[^./\\\0][^/\\\0]*$/.test(name)) ? names : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a file; undefined where there is none, or a symbolic link leads out of `root`. */
async function readWithin(root: string, names: string[]): Promise<Buffer<ArrayBuffer> | undefined> {
  try {
    const path = await realpath(join(root, ...names));
    if (!path.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined;
    return (await stat(path)).isFile() ? await readFile(path) : undefined;
  } catch (error) {
    if (ABSENT.includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

/** Checks that `If-None-Match` names the tag, also as a weak one. */
function matchesTag(header: string | null, etag: string): boolean {
  if (header === null) return false;
  const tags = header.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(etag);
}
