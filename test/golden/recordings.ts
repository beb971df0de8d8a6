/** The golden files as the service would write them now: the text of each by its name. */
import { app, endpoints } from "../../handlers/index.ts";
import { readHead } from "../../lib/audit/chain.ts";
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { portableSha256 } from "../../lib/kit/platform.ts";
import type { Version } from "../../lib/store/version.ts";
import { get } from "../support/requests.ts";
import type { Life } from "./life.ts";
import type { Exchange } from "./recorder.ts";
import { AGENT_SECRET } from "./setting.ts";

/** Metrics of the process, which vary by machine and moment. */
const VARYING_METRICS = /^(?:# (?:HELP|TYPE) )?(?:process_|nodejs_|countersign_http_request_duration_)/;

/** Digests in place of two large answers; what differs in the document is found by path. */
const DIGESTED = ["getApiDocument", "getApiPage"];

/** Collections that have a file of their own (the log), or are no part of what is promised. */
const NOT_STORED = ["audit"];

/** Reads everything that is compared. */
export async function recordings(life: Life): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const answers = await recordAnswers(life);
  const lines = (exchange: Exchange | undefined): string => (exchange!.body as string[]).join("\n");
  const { seats } = life.changes;

  const log = lines(await life.api.exchange("GET", "audit?format=jsonl"));
  files.set("log.jsonl", log);
  files.set("export.txt", exportWithoutLog(lines(answers.get("exportAuditLog")), log));
  files.set("certificate.txt", lines(answers.get("getCertificate")));
  files.set("metrics.txt", metricsIn(lines(answers.get("getMetrics"))));
  files.set("pack.json", pretty((await life.api.exchange("GET", `pack?change_id=${seats}`)).body));
  files.set("pack.html", lines(await life.api.exchange("GET", `pack?change_id=${seats}&format=html`)));
  files.set("openapi.json", pretty(digestDocument(answers.get("getApiDocument")!.body)));
  files.set("ofrep.json", pretty(await recordFlags(life)));
  files.set("errors.json", pretty(await recordErrors(life)));
  for (const operation of ["exportAuditLog", "getCertificate", "getMetrics", ...DIGESTED]) {
    const answer = answers.get(operation)!;
    const isVarying = operation === "getMetrics";
    const text = isVarying ? "metrics.txt" : portableSha256(canonicalJson(answer.body));
    answers.set(operation, { ...answer, body: isVarying ? { file: text } : { sha256: text } });
  }
  for (const [operation, answer] of answers) files.set(`answers/${operation}.json`, pretty(answer));
  for (const [collection, text] of await dumpStore(life)) files.set(`stored/${collection}.jsonl`, text);
  return files;
}

const pretty = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** The answers of the life, and of every endpoint that reads. */
async function recordAnswers({ api, deps, changes }: Life): Promise<Map<string, Exchange>> {
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
    const there =
      path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name]!)) + (queries[operation] ?? "");
    if (operation === "streamEvents") api.answers.set(operation, await readEvents(deps, there));
    else if (method === "GET") await api.get(there);
    else if (path.startsWith("/ofrep/")) await api.post(there, { context: { targetingKey: "acme" } });
  }
  return api.answers;
}

const EVENTS_READ = 3;

/** The first events of a stream from the beginning. */
async function readEvents(deps: Life["deps"], path: string): Promise<Exchange> {
  const answered = await app(deps)(get(`${path}?after=0.0.0.0`, { "x-request-id": "golden" }));
  const reader = answered
    .body!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let text = "";
  while (text.split("\n\n").length <= EVENTS_READ + 1) text += (await reader.read()).value ?? "";
  await reader.cancel();
  return {
    request: `GET ${path}?after=0.0.0.0`,
    status: answered.status,
    headers: Object.fromEntries([...answered.headers].filter(([name]) => name !== "x-request-id").sort()),
    body: text
      .split("\n\n")
      .slice(0, EVENTS_READ + 1)
      .flatMap((block) => block.split("\n")),
  };
}

/** OpenFeature's evaluation of one flag and of all, and its errors. */
async function recordFlags({ api }: Life): Promise<Exchange[]> {
  const of = (targetingKey?: string) => ({ context: targetingKey === undefined ? {} : { targetingKey } });
  const flags = "/ofrep/v1/evaluate/flags";
  const all = await api.exchange("POST", flags, of("acme"));
  const known = { "if-none-match": all.headers["etag"]! };
  return [
    all,
    await api.exchange("POST", flags, of("acme"), known),
    await api.exchange("POST", flags, of()),
    await api.exchange("POST", `${flags}/limits.seats`, of("acme")),
    await api.exchange("POST", `${flags}/ui.banner`, of("acme")),
    await api.exchange("POST", `${flags}/limits.seats`, of()),
    await api.exchange("POST", `${flags}/limits.seats`, { context: 1 }),
    await api.exchange("POST", flags, "{", { "content-type": "application/json" }),
  ];
}

/** Errors of each kind, as callers see them. */
async function recordErrors({ api, changes: { seats, discount, pending } }: Life): Promise<Exchange[]> {
  const asAgent = { authorization: `Bearer ${AGENT_SECRET}` };
  const proposal = { tenant_id: "acme", kind: "config", target: "ui.x", summary: "X", proposer: "pat" };
  const asked: Parameters<typeof api.exchange>[] = [
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
  for (const one of asked) errors.push(await api.exchange(...one));
  return errors;
}

/** An export in which the lines of the log, which has a file of its own, are numbers. */
function exportWithoutLog(text: string, log: string): string {
  const entries = log.trimEnd().split("\n");
  const shortened = (line: string): string => (entries.includes(line) ? `entry ${entries.indexOf(line) + 1}` : line);
  return text.split("\n").map(shortened).join("\n");
}

/** The lines that are the same on each machine. */
const metricsIn = (text: string): string =>
  text
    .split("\n")
    .filter((line) => !VARYING_METRICS.test(line))
    .join("\n");

interface Document {
  openapi: string;
  paths: Record<string, Record<string, object>>;
  components: Record<string, Record<string, object>>;
}

/** A digest of each operation and component, so that a difference has a place, and of all. */
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

/** Every record of the store, by collection: its id, its revision and its JSON text; what was deleted counts by its revision. */
async function dumpStore({ store }: Life): Promise<Map<string, string>> {
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
