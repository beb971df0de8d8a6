// ship_audit.mjs
import { appendFile, readFile, truncate } from "node:fs/promises";

const [url, file] = process.argv.slice(2);
const headers = { authorization: `Bearer ${process.env.SVC_READ_TOKEN}` };
const shipped = await readFile(file, "utf8").catch((error) => (error.code === "ENOENT" ? "" : Promise.reject(error)));
// Requests an entry again whose line was cut off while it was written.
const whole = shipped.slice(0, shipped.lastIndexOf("\n") + 1);
if (whole !== shipped) await truncate(file, Buffer.byteLength(whole));
const last = whole.trimEnd().split("\n").at(-1);
let after = last ? JSON.parse(last).id : 0;
for (let more = true; more;) {
  const answer = await fetch(`${url}/api/product/audit?order=asc&limit=1000&after=${after}`, { headers });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  const { entries, next } = await answer.json();
  await appendFile(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  after = entries.at(-1)?.id ?? after;
  more = next !== null;
}
