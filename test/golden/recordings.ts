/** Creates the golden files from a service: the text of each by its name. */
import { app, endpoints } from "../../handlers/index.ts";
import { readHead } from "../../lib/audit/chain.ts";
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { portableSha256 } from "../../lib/kit/platform.ts";
import type { Version } from "../../lib/store/version.ts";
import { get } from "../support/requests.ts";
import type { History } from "./history.ts";
import type { Exchange } from "./recorder.ts";
import { AGENT_SECRET } from "./setup.ts";

/** Metrics of the process, which vary by machine and moment. */
const VARYING_METRICS = /^(?:# (?:HELP|TYPE) )?(?:process_|nodejs_|countersign_http_request_duration_)/;

/** Operations whose large answers are stored as digests; a file has the digests of parts of the document. */
const DIGESTED_OPERATIONS = ["getApiDocument", "getApiPage"];

/** Collections without a file in `stored`; the log has its own file. */
const NOT_STORED = ["audit"];

export async function createRecordings(history: History): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const answers = await recordAnswers(history);
  const joinLines = (exchange: Exchange | undefined): string => (exchange!.body as string[]).join("\n");
  const { seats } = history.changes;

  const log = joinLines(await history.api.exchange("GET", "audit?format=jsonl"));
  files.set("log.jsonl", log);
  files.set("export.txt", exportWithoutLog(joinLines(answers.get("exportAuditLog")), log));
  files.set("certificate.txt", joinLines(answers.get("getCertificate")));
  files.set("metrics.txt", withoutVaryingMetrics(joinLines(answers.get("getMetrics"))));
  files.set("pack.json", pretty((await history.api.exchange("GET", `pack?change_id=${seats}`)).body));
  files.set("pack.html", joinLines(await history.api.exchange("GET", `pack?change_id=${seats}&format=html`)));
  files.set("openapi.json", pretty(digestDocument(answers.get("getApiDocument")!.body)));
  files.set("ofrep.json", pretty(await recordFlags(history)));
  files.set("errors.json", pretty(await recordErrors(history)));
  for (const operation of ["exportAuditLog", "getCertificate", "getMetrics", ...DIGESTED_OPERATIONS]) {
    const answer = answers.get(operation)!;
    const isVarying = operation === "getMetrics";
    const text = isVarying ? "metrics.txt" : portableSha256(canonicalJson(answer.body));
    answers.set(operation, { ...answer, body: isVarying ? { file: text } : { sha256: text } });
  }
  for (const [operation, answer] of answers) files.set(`answers/${operation}.json`, pretty(answer));
  for (const [collection, text] of await dumpStore(history)) files.set(`stored/${collection}.jsonl`, text);
  return files;
}

const pretty = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Returns the answers of the history, and requests every endpoint that reads. */
async function recordAnswers({ api, deps, changes }: History): Promise<Map<string, Exchange>> {
  const [report] = await deps.evolved!.list();
  const { origin } = (await readHead(deps.store))!;
  const values: Record<string, string> = {
    change_id: changes.seats,
    mandate_id: changes.mandate,
    file: report!.name,
    origin_hash: portableSha256(origin),
    key: "limits.seats",
  };
  const queries: Record<string, string> = {
    searchMemory: "?q=seats",
    getProof: "?id=1",
    getPolicy: "?target=limits.seats&tenant_id=acme",
    getAuditPack: "?from=2026-01-05T08:00:00Z&to=2026-01-05T08:00:10Z",
    askGate: `?target=limits.seats&tenant_id=acme&head=${"a".repeat(40)}`,
    findChanges: "?limit=4",
    listGrowthRows: "?limit=8",
    getRuntime: "?entries=3&limit=4",
    listAuditEntries: "?limit=5",
  };
  for (const { method, path, operation } of endpoints) {
    const filledPath =
      path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name]!)) + (queries[operation] ?? "");
    if (operation === "streamEvents") api.answers.set(operation, await readEvents(deps, filledPath));
    else if (method === "GET") await api.get(filledPath);
    else if (path.startsWith("/ofrep/")) await api.post(filledPath, { context: { targetingKey: "acme" } });
  }
  return api.answers;
}

const EVENTS_READ = 3;

/** Number of blocks with these events: the first block of a stream states the delay before reconnects. */
const BLOCKS_READ = EVENTS_READ + 1;

/** Reads the first events of a stream. */
async function readEvents(deps: History["deps"], path: string): Promise<Exchange> {
  const response = await app(deps)(get(`${path}?after=0.0.0.0`, { "x-request-id": "golden" }));
  const reader = response
    .body!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let text = "";
  while (text.split("\n\n").length <= BLOCKS_READ) text += (await reader.read()).value ?? "";
  await reader.cancel();
  return {
    request: `GET ${path}?after=0.0.0.0`,
    status: response.status,
    headers: Object.fromEntries([...response.headers].filter(([name]) => name !== "x-request-id").sort()),
    body: text
      .split("\n\n")
      .slice(0, BLOCKS_READ)
      .flatMap((block) => block.split("\n")),
  };
}

/** Records evaluations of one flag and of all flags by OFREP, and errors. */
async function recordFlags({ api }: History): Promise<Exchange[]> {
  const withKey = (targetingKey?: string) => ({ context: targetingKey === undefined ? {} : { targetingKey } });
  const flags = "/ofrep/v1/evaluate/flags";
  const all = await api.exchange("POST", flags, withKey("acme"));
  const known = { "if-none-match": all.headers["etag"]! };
  return [
    all,
    await api.exchange("POST", flags, withKey("acme"), known),
    await api.exchange("POST", flags, withKey()),
    await api.exchange("POST", `${flags}/limits.seats`, withKey("acme")),
    await api.exchange("POST", `${flags}/ui.banner`, withKey("acme")),
    await api.exchange("POST", `${flags}/limits.seats`, withKey()),
    await api.exchange("POST", `${flags}/limits.seats`, { context: 1 }),
    await api.exchange("POST", flags, "{", { "content-type": "application/json" }),
  ];
}

/** Records error responses of each kind. */
async function recordErrors({ api, changes: { seats, discount, pending } }: History): Promise<Exchange[]> {
  const asAgent = { authorization: `Bearer ${AGENT_SECRET}` };
  const proposal = { tenant_id: "acme", kind: "config", target: "ui.x", summary: "X", proposer: "pat" };
  const requests: Parameters<typeof api.exchange>[] = [
    ["GET", "/nowhere"],
    ["PUT", "/api/state"],
    ["GET", "changes/chg_none"],
    ["GET", "runtime?x=1"],
    ["POST", "propose", { ...proposal, kind: "song" }],
    ["POST", "propose", { ...proposal, tiers: "minor" }],
    ["POST", "propose", { ...proposal, target: "billing.rate" }],
    ["POST", "propose", "x", { "content-type": "text/csv" }],
    ["POST", "propose", proposal, { "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
    ["POST", "propose", proposal, { authorization: "Bearer wrong" }],
    ["POST", "approve", { change_id: seats, approver: "cy" }],
    ["POST", "approve", { change_id: pending, approver: "ana" }],
    ["POST", "approve", { change_id: pending, approver: "eve" }],
    ["POST", "approve", { change_id: pending, approver: "cy" }, asAgent],
    ["POST", "approve", { change_id: pending, approver: "cy" }, { "if-match": '"1"' }],
    ["POST", "apply", { change_id: pending }],
    ["POST", "rollback", { change_id: discount }],
    ["POST", "apply", { change_id: pending }, { "idempotency-key": "apply-seats" }],
    ["POST", "audit/accept-clock", { actor: "cy" }],
    ["POST", "/mcp", { jsonrpc: "2.0", id: 1, method: "no/method" }, { "mcp-protocol-version": "2025-06-18" }],
    ["POST", "/add-checkpoint", "old 0\n", { "content-type": "text/plain" }],
  ];
  const errors: Exchange[] = [];
  for (const request of requests) errors.push(await api.exchange(...request));
  return errors;
}

/** Replaces the lines of the log in an export by their numbers. */
function exportWithoutLog(text: string, log: string): string {
  const entries = log.trimEnd().split("\n");
  const shortened = (line: string): string => (entries.includes(line) ? `entry ${entries.indexOf(line) + 1}` : line);
  return text.split("\n").map(shortened).join("\n");
}

const withoutVaryingMetrics = (text: string): string =>
  text
    .split("\n")
    .filter((line) => !VARYING_METRICS.test(line))
    .join("\n");

interface Document {
  openapi: string;
  paths: Record<string, Record<string, object>>;
  components: Record<string, Record<string, object>>;
}

/** Returns digests of the document and of each operation and component, which show where a difference is. */
function digestDocument(body: unknown): object {
  const document = body as Document;
  const digests = (groups: Record<string, Record<string, object>>, separator: string): Record<string, string> =>
    Object.fromEntries(
      Object.entries(groups).flatMap(([group, members]) =>
        Object.entries(members).map(([name, value]) => [
          `${group}${separator}${name}`,
          portableSha256(canonicalJson(value)),
        ]),
      ),
    );
  const { paths, components, ...rest } = document;
  return {
    sha256: portableSha256(canonicalJson(body)),
    rest: portableSha256(canonicalJson(rest)),
    operations: digests(paths, " "),
    components: digests(components, "/"),
  };
}

/** Returns the records of each collection: id, revision and JSON text; `null` is the text of a deleted record. */
async function dumpStore({ store }: History): Promise<Map<string, string>> {
  const lines = new Map<string, string>();
  const add = ({ collection, id, revision, json }: Version): void => {
    const value = json ? json.text : "null";
    const line = `{"id":${JSON.stringify(id)},"revision":${revision},"value":${value}}\n`;
    lines.set(collection, (lines.get(collection) ?? "") + line);
  };
  for await (const page of store.bulk!.dump())
    page.filter(({ collection }) => !NOT_STORED.includes(collection)).forEach(add);
  return lines;
}
