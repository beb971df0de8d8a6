/** Serves the files of the user interface: nothing outside their folder, nothing hidden, and no script from elsewhere. */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import type { Sha256 } from "../lib/kit/platform.ts";
import { CONSOLE_HEADERS } from "../lib/http/console_headers.ts";
import { typeOfFile } from "../lib/http/file_types.ts";

/** What the file system says of a path that leads to no file. */
const ABSENT = ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"];

/** Answers a GET or HEAD for a file of the folder; undefined for anything else. */
export type StaticFiles = (request: Request) => Promise<Response | undefined>;

/** Serves `folder`, read anew with each request; rejects when it is no readable folder. Its index.html answers at `/`. */
export async function staticFiles(folder: string, sha256: Sha256): Promise<StaticFiles> {
  const root = await realpath(folder);
  await readdir(root);
  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") return undefined;
    const names = namesOf(new URL(request.url).pathname);
    const content = names && (await readWithin(root, names));
    if (!names || !content) return undefined;
    const etag = `"${sha256(content).slice(0, 32)}"`;
    if (matches(request.headers.get("if-none-match"), etag))
      return new Response(null, { status: 304, headers: { ...CONSOLE_HEADERS, etag } });
    const type = typeOfFile(names.at(-1)!);
    const headers = { ...CONSOLE_HEADERS, etag, "content-type": type, "content-length": String(content.length) };
    return new Response(request.method === "HEAD" ? null : content, { headers });
  };
}

/** The file names along a path; undefined where one could lead elsewhere or names something hidden. */
function namesOf(pathname: string): string[] | undefined {
  if (pathname === "/") return ["index.html"];
  try {
    const names = pathname.slice(1).split("/").map(decodeURIComponent);
    return names.every((name) => /^[^./\\\0][^/\\\0]*$/.test(name)) ? names : undefined;
  } catch {
    return undefined;
  }
}

/** A file's content, unless there is none or a symbolic link leads out of `root`. */
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

/** Whether `If-None-Match` names the tag; a weak tag counts. */
function matches(header: string | null, etag: string): boolean {
  if (header === null) return false;
  const tags = header.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(etag);
}
