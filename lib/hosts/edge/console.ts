/** The console's files, from the assets that are bound to the Worker. */
import { CONSOLE_HEADERS } from "../../http/console_headers.ts";

/** What serves assets. */
export interface Assets {
  fetch(request: Request): Promise<Response>;
}

/** Answers a GET or HEAD for a file of the console; undefined for anything else. */
export async function consoleFile(assets: Assets | undefined, request: Request): Promise<Response | undefined> {
  if (!assets || (request.method !== "GET" && request.method !== "HEAD")) return undefined;
  const found = await assets.fetch(request);
  if (found.status === 404) return undefined;
  const response = new Response(found.body, found);
  for (const [name, value] of Object.entries(CONSOLE_HEADERS)) response.headers.set(name, value);
  return response;
}
