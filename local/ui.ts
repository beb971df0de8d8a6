/** Serves the user interface next to the API. */
import { join } from "node:path";
import { endpoints } from "../handlers/index.ts";
import type { Log } from "../lib/kit/platform.ts";
import type { Handler } from "../lib/http/endpoint.ts";
import { requestPath } from "../lib/http/path.ts";
import { sha256 } from "./node_ports.ts";
import { staticFiles, type StaticFiles } from "./static_files.ts";

const BUNDLED = join(import.meta.dirname, "ui");

/** Opens the files of `folder`, or of the bundled interface; `problem` explains why they cannot be served, or is null. */
export async function openUi(
  folder: string | undefined,
  log: Log,
): Promise<{ files: StaticFiles; problem: string | null }> {
  try {
    return { files: await staticFiles(folder ?? BUNDLED, sha256), problem: null };
  } catch (error) {
    log.warn("the user interface cannot be served", { folder: folder ?? BUNDLED, error: (error as Error).message });
    const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
    return { files: async () => undefined, problem: `its folder cannot be read (${code})` };
  }
}

/** Returns a handler: `api` answers its own paths and all others that are not files. */
export function serveUi(files: StaticFiles, api: Handler): Handler {
  const endpointPaths = new Set(endpoints.map(({ path }) => path));
  return (request) => {
    // Files answer no POST.
    if (request.method === "POST") return api(request);
    const path = requestPath(request);
    if (path.startsWith("/api/") || endpointPaths.has(path)) return api(request);
    return files(request).then((file) => file ?? api(request));
  };
}
