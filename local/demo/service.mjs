/** The service as it is built, started in the past, and its API as the people of the story use it. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const CLOCK = new URL("clock.mjs", import.meta.url).href;
const MAX_WAIT_S = 50;

/** Starts it in a folder, with its clock so many milliseconds off. */
export async function startService(start, { folder, dist, token, clock }) {
  const { child, line } = start(
    join(dist, "local/ui_server.js"),
    ["--port=0", "--product-intent=intent.json", "--product-config=config.json", "--state=state.json"],
    { cwd: folder, env: { SVC_ADMIN_TOKEN: token, DEMO_CLOCK_MS: String(clock) }, imports: [CLOCK] },
  );
  const url = await line((text) => (text.includes('"listening"') ? JSON.parse(text).url : undefined));
  /** Receipt of the last step that was taken here. */
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

  /** Puts the clock so many milliseconds off, 0 being the present. */
  async function setClock(ms) {
    child.send({ clock_ms: ms });
    await once(child, "message");
  }

  /** Resolves with a change when its status differs from `status`. */
  async function moved(change_id, status) {
    for (let etag; ;) {
      const address = new URL(`api/product/changes/${change_id}?wait=${etag ? MAX_WAIT_S : 0}`, url);
      const response = await fetch(address, { headers: etag ? { "if-none-match": etag } : {} });
      etag = response.headers.get("etag") ?? etag;
      if (response.status === 304) continue;
      const change = await read(response);
      if (change.status !== status) return change;
    }
  }

  /** Lets `countersign-verify` check an export of the log against the last receipt; resolves with the number of entries. */
  async function verify() {
    const exported = join(folder, "audit.jsonl");
    await writeFile(exported, await (await fetch(new URL("api/product/audit?format=jsonl", url))).text());
    const receiptOptions = ["--expected-length", String(receipt.id), "--expected-head", receipt.current_hash];
    const program = join(dist, "local/verify/main.js");
    const { stdout } = await promisify(execFile)(process.execPath, [program, exported, ...receiptOptions, "--json"]);
    return JSON.parse(stdout).entries;
  }

  return { url, get, post, setClock, moved, verify };
}
