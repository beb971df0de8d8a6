/** Starts the built service with a clock in the past, and calls its API as the people of the story. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const CLOCK = new URL("clock.mjs", import.meta.url).href;
const MAX_WAIT_S = 50;

/** Starts the service in a folder; its clock is off by `clock` milliseconds. */
export async function startService(start, { folder, dist, token, clock }) {
  const { child, waitForLine } = start(
    join(dist, "local/ui_server.js"),
    ["--port=0", "--product-intent=intent.json", "--product-config=config.json", "--state=state.json"],
    { cwd: folder, env: { SVC_ADMIN_TOKEN: token, DEMO_CLOCK_MS: String(clock) }, imports: [CLOCK] },
  );
  const url = await waitForLine((text) => (text.includes('"listening"') ? JSON.parse(text).url : undefined));
  /** Receipt of the last action that this process sent. */
  let receipt;

  async function read(response) {
    const body = await response.json();
    if (!response.ok) throw new Error(`${response.url}: ${response.status} ${body.error}`);
    receipt = body.audit_entry ?? receipt;
    return body;
  }

  const get = async (path) => read(await fetch(new URL(path, url)));

  /** Sends an action of a person or an operator, with the admin token. */
  async function post(path, fields = {}) {
    const headers = { "X-Svc-Admin-Token": token };
    return read(await fetch(new URL(path, url), { method: "POST", headers, body: new URLSearchParams(fields) }));
  }

  /** Sets the clock `ms` milliseconds off the real time. */
  async function setClock(ms) {
    child.send({ clock_ms: ms });
    await once(child, "message");
  }

  /** Resolves with a change when its status differs from `status`. */
  async function waitForMove(change_id, status) {
    for (let etag; ;) {
      const address = new URL(`api/product/changes/${change_id}?wait=${etag ? MAX_WAIT_S : 0}`, url);
      const response = await fetch(address, { headers: etag ? { "if-none-match": etag } : {} });
      etag = response.headers.get("etag") ?? etag;
      if (response.status === 304) continue;
      const change = await read(response);
      if (change.status !== status) return change;
    }
  }

  /** Runs `countersign-verify` on an export of the log with the last receipt; resolves with the number of entries. */
  async function verify() {
    const exported = join(folder, "audit.jsonl");
    await writeFile(exported, await (await fetch(new URL("api/product/audit?format=jsonl", url))).text());
    const receiptOptions = ["--expected-length", String(receipt.id), "--expected-head", receipt.current_hash];
    const program = join(dist, "local/verify/main.js");
    const { stdout } = await promisify(execFile)(process.execPath, [program, exported, ...receiptOptions, "--json"]);
    return JSON.parse(stdout).entries;
  }

  return { url, get, post, setClock, waitForMove, verify };
}
