/** The Worker host in workerd, for tests: one process for all services, each service with an object of its own. */
import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Miniflare, type MiniflareOptions } from "miniflare";
// @ts-expect-error a build script without types
import { buildWorker } from "../../../esbuild.config.mjs";

/** The Worker's configuration, as docs/wrangler.jsonc has it. */
const BINDINGS = { COUNTERSIGN: { className: "Countersign", useSQLite: true } };
export const COMPATIBILITY_DATE = "2026-04-01";

/** Builds a Worker as it is published; `entry` is the text of its entry module, by default the published one. */
export async function workerScript(entry?: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-worker-"));
  try {
    await buildWorker(join(folder, "worker.js"), entry);
    return await readFile(join(folder, "worker.js"), "utf8");
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Starts workerd and returns it with its address. */
export async function startWorkerd(script: string, more: Partial<MiniflareOptions> = {}) {
  const workerd = new Miniflare({
    modules: true,
    script,
    compatibilityDate: COMPATIBILITY_DATE,
    durableObjects: BINDINGS,
    host: "127.0.0.1",
    port: 0,
    // The log of the service is discarded: it contains only effects of the tests' requests.
    handleRuntimeStdio: (stdout: Readable, stderr: Readable) => void (stdout.resume(), stderr.resume()),
    ...more,
  } as MiniflareOptions);
  const { origin } = await workerd.ready;
  return { workerd, url: origin };
}

/**
 * Sends a request over a connection of its own, and reads the complete answer. Workerd closes a connection if it does not read
 * the request to the end; on a shared connection the next request could fail.
 */
export async function sendAlone(request: Request): Promise<Response> {
  const { method, url } = request;
  const body = Buffer.from(await request.arrayBuffer());
  const sent = httpRequest(url, { method, headers: Object.fromEntries(request.headers), agent: false });
  sent.end(method === "GET" || method === "HEAD" ? undefined : body);
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  sent.on("error", () => undefined); // Workerd has answered and does not read the rest of the request.
  const content = Buffer.concat(await answer.toArray());
  const headers = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]);
  return new Response(content.length > 0 ? content : null, { status: answer.statusCode!, headers });
}
