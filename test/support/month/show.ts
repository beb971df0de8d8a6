/**
 * The simulated month in a browser: `npm run month`, or `npm run month -- bo` to look at it as Bo. It stands still on its last
 * Monday, 09:30, and is forgotten when it is stopped.
 */
import { join } from "node:path";
import { app } from "../../../handlers/index.ts";
import { serveHttp } from "../../../local/node_http.ts";
import { openUi, serveUi } from "../../../local/ui.ts";
import { simulatedMonth } from "./month.ts";
import { PERSON } from "./who_and_what.ts";

const [name = "ana"] = process.argv.slice(2);
const { deps, run } = await simulatedMonth();
await run("write_report");
const ui = await openUi(join(process.cwd(), "dist/local/ui"), deps.log);
const everything = serveUi(ui.files, app(deps));
/** Names the person, like the proxy in front of a real service. */
const asPerson = ({ url: asked, method, headers, body, signal }: Request): Response | Promise<Response> => {
  const named = new Headers(headers);
  named.set(PERSON, `${name}@acme.example`);
  const sent = body === null ? {} : { body, duplex: "half" };
  return everything(new Request(asked, { method, headers: named, signal, ...sent }));
};
const { url } = await serveHttp(asPerson, { host: "127.0.0.1", port: Number(process.env["PORT"] ?? 8420), deps });
process.stdout.write(`${url} shows the month as ${name}@acme.example sees it on Monday, 16 November 2026, 09:30 UTC\n`);
