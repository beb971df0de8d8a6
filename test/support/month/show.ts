/**
 * Serves the simulated month to a browser: `npm run month`, or `npm run month -- bo` to use it as Bo. Its clock stays at the
 * last Monday, 09:30; changes are lost when it ends.
 */
import { join } from "node:path";
import { app } from "../../../handlers/index.ts";
import { serveHttp } from "../../../local/node_http.ts";
import { openUi, serveUi } from "../../../local/ui.ts";
import { simulatedMonth } from "./month.ts";
import { PERSON } from "./people.ts";

const [name = "ana"] = process.argv.slice(2);
const { deps, run } = await simulatedMonth();
await run("write_report");
const ui = await openUi(join(process.cwd(), "dist/local/ui"), deps.log);
const serve = serveUi(ui.files, app(deps));
/** Names the person in a header, like the proxy in front of a real service. */
const asPerson = (request: Request): Response | Promise<Response> => {
  const { method, body, signal } = request;
  const headers = new Headers(request.headers);
  headers.set(PERSON, `${name}@acme.example`);
  const bodyInit = body === null ? {} : { body, duplex: "half" };
  return serve(new Request(request.url, { method, headers, signal, ...bodyInit }));
};
const { url } = await serveHttp(asPerson, { host: "127.0.0.1", port: Number(process.env["PORT"] ?? 8420), deps });
process.stdout.write(`${url} shows the month as ${name}@acme.example sees it on Monday, 16 November 2026, 09:30 UTC\n`);
