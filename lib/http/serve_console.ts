/** Serves the console's files from memory, for hosts without a file system; other requests go to the API. */
import { consoleHeaders } from "./console_headers.ts";
import type { Handler } from "./endpoint.ts";
import { findFileType } from "./file_types.ts";
import { parseIfNoneMatch } from "./if_none_match.ts";
import { requestPath } from "./path.ts";

/** The built files by their names (`index.html`, `chunks/…`), each with its ETag. */
export type ConsoleFiles = Readonly<Record<string, { text: string; etag: string }>>;

/** Unpacks the files that the build packed as base64 of gzipped JSON, which takes a third of the space. */
export async function unpackConsole(packed: string): Promise<ConsoleFiles> {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const unzipped = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(unzipped).json()) as ConsoleFiles;
}

/** Location of the console. */
export interface ConsoleOptions {
  /** Prefix of every path of the service, such as `/governance`; empty by default. */
  base?: string | undefined;
}

/** Answers a GET or HEAD for a file of the console, with its page at `<base>/`; the API answers everything else. */
export function serveConsole(
  files: () => Promise<ConsoleFiles>,
  api: Handler,
  { base = "" }: ConsoleOptions = {},
): Handler {
  return async (request) => {
    if (request.method !== "GET" && request.method !== "HEAD") return api(request);
    const path = requestPath(request);
    // Links of the console are relative, so its address must end with a slash.
    if (base !== "" && path === base) return new Response(null, { status: 308, headers: { location: `${base}/` } });
    const name = path.startsWith(`${base}/`) ? path.slice(base.length + 1) || "index.html" : "";
    const filesByName = name === "" ? {} : await files();
    if (!Object.hasOwn(filesByName, name)) return api(request);
    const { text, etag } = filesByName[name]!;
    const fileHeaders = { ...consoleHeaders(name), etag };
    if (parseIfNoneMatch(request)?.(etag)) return new Response(null, { status: 304, headers: fileHeaders });
    const headers = { ...fileHeaders, "content-type": findFileType(name) };
    return new Response(request.method === "HEAD" ? null : text, { headers });
  };
}
