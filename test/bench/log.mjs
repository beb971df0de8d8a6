/**
 * node test/bench/log.mjs [--entries N]: a long audit log on disk. Measures the start of the service beside a program that
 * reads and parses the same file, and countersign-verify on the export, at a tenth of the log and at all of it.
 */
import { execFile, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs, promisify } from "node:util";
import * as esbuild from "esbuild";
import { median } from "./load.mjs";

const root = join(import.meta.dirname, "../..");
const { values } = parseArgs({ options: { entries: { type: "string", default: "1000000" } } });
const entries = Number(values.entries);
const ROUNDS = 3;
const CHUNK = 1000;

const folder = await mkdtemp(join(tmpdir(), "countersign-log-"));
process.on("SIGINT", () => process.exit(1));

/** The library's own writer, so that the file is what the service writes. */
async function loadWriter() {
  const outfile = join(folder, "writer.mjs");
  const contents = `
    export { createChain, entryKey, nextEntry } from "./lib/audit/chain.ts";
    export { identityOf } from "./lib/governance/open.ts";
    export { risingIds } from "./lib/ids.ts";
    export { sha256 } from "./local/node_ports.ts";
    export { openFileStore } from "./local/store/file_store.ts";`;
  await esbuild.build({
    stdin: { contents, resolveDir: root },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    logLevel: "error",
  });
  return import(outfile);
}

/** Writes a store whose log has `entries` entries of KPI feeds; gives the paths of the log and of two exports. */
async function writeLog() {
  const { createChain, entryKey, identityOf, nextEntry, openFileStore, risingIds, sha256 } = await loadWriter();
  const log = { info() {}, warn() {}, error: console.error };
  const state = join(folder, "state.json");
  const store = await openFileStore({ path: state, log });
  const now = Date.now();
  const identity = identityOf("acme-crm", "local");
  let head = await store.transact((tx) => {
    tx.put("meta", "identity", identity);
    return createChain(tx, identity.product_id, { ids: risingIds(), sha256 }, now);
  });
  const exports = { [entries / 10]: join(folder, "tenth.jsonl"), [entries]: join(folder, "all.jsonl") };
  const files = Object.values(exports).map((path) => createWriteStream(path));
  const at = new Date(now).toISOString();
  for (let done = 0; done < entries; done += CHUNK) {
    const lines = [];
    head = await store.transact((tx) => {
      lines.length = 0;
      let end = head;
      for (let n = done; n < Math.min(done + CHUNK, entries); n++) {
        const detail = {
          csat: (n % 500) / 100,
          nrr_quarterly: 1 + (n % 97) / 1000,
          source: "warehouse",
          note: `feed ${n}`,
        };
        const next = nextEntry(end, { event_type: "kpi_refreshed", detail }, at, sha256);
        tx.put("audit", entryKey(next.entry.id), next.entry, 0);
        lines.push(JSON.stringify(next.entry));
        end = next.head;
      }
      tx.put("meta", "chain", end);
      return end;
    });
    files.forEach((file, index) => {
      if (index === 1 || done < entries / 10) file.write(`${lines.join("\n")}\n`);
    });
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(files.map((file) => new Promise((resolve) => file.end(resolve))));
  await store.close();
  return { state, exports };
}

/** At its end a program tells the most memory it held (KiB), and its processor time (microseconds). */
const USAGE = `data:text/javascript,process.on("exit",()=>{const{maxRSS:m,userCPUTime:u,systemCPUTime:s}=process.resourceUsage();console.error("used",m,u+s)})`;
function usageOf(stderr) {
  const [, peak, cpu] = /used (\d+) (\d+)/.exec(stderr);
  return { peak: Math.round(peak / 1024), cpu: cpu / 1000 };
}

/** From spawning the service until it listens. */
async function start(state) {
  const program = join(root, "dist/local/ui_server.js");
  const intent = join(root, "local/example/product_intent.json");
  const args = [program, "--port", "0", "--cycle-interval", "0", "--state", state, "--product-intent", intent];
  const began = performance.now();
  const child = spawn(process.execPath, ["--import", USAGE, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let took;
  let text = "";
  for await (const line of createInterface({ input: child.stderr })) {
    text += `${line}\n`;
    if (took === undefined && line.includes('"listening"')) {
      took = performance.now() - began;
      child.kill("SIGTERM");
    }
  }
  await ended;
  if (took === undefined) throw new Error(text);
  return { took, ...usageOf(text) };
}

const PARSE = `
  import { createReadStream } from "node:fs";
  import { createInterface } from "node:readline";
  let count = 0;
  for (const path of process.argv.slice(1))
    for await (const line of createInterface({ input: createReadStream(path) })) count += JSON.parse(line) ? 1 : 0;`;

/** From spawning a program that reads and parses each line of the journal until it has ended. */
async function parse(state) {
  const names = (await readdir(folder)).filter((name) => name.includes(".journal.") && name.endsWith(".jsonl"));
  const began = performance.now();
  const args = ["--input-type=module", "-e", PARSE, ...names.map((name) => join(folder, name))];
  await promisify(execFile)(process.execPath, args);
  return performance.now() - began;
}

async function verify(path) {
  const began = performance.now();
  const program = join(root, "dist/local/verify/main.js");
  const run = promisify(execFile)(process.execPath, ["--import", USAGE, program, path]);
  const { code, stderr, stdout } = await run.catch((error) => error);
  if (code !== 2) throw new Error(`countersign-verify: ${stdout}${stderr}`);
  return { took: performance.now() - began, ...usageOf(stderr) };
}

const times = async (work) => {
  const runs = [];
  for (let round = 0; round < ROUNDS; round++) runs.push(await work());
  return runs;
};
const seconds = (ms) => `${(ms / 1000).toFixed(2)} s`;

try {
  const { state, exports } = await writeLog();
  const bytes = (await stat(exports[entries])).size;
  console.log(`a log of ${entries} entries, ${Math.round(bytes / 2 ** 20)} MiB as an export`);
  await parse(state);
  const pairs = await times(async () => ({ parsed: await parse(state), ...(await start(state)) }));
  const took = median(pairs.map((pair) => pair.took));
  const ratio = median(pairs.map((pair) => pair.took / pair.parsed));
  const peak = Math.max(...pairs.map((pair) => pair.peak));
  console.log(
    `start until it listens: ${seconds(took)}, ${ratio.toFixed(2)} of reading and parsing, ${peak} MiB at most`,
  );
  for (const [count, path] of Object.entries(exports)) {
    const runs = await times(() => verify(path));
    const rate = (part) => Math.round((count / median(runs.map((run) => run[part]))) * 1000);
    const most = Math.max(...runs.map((run) => run.peak));
    console.log(
      `countersign-verify, ${count} entries: ${rate("took")}/s, ${rate("cpu")}/s of processor time, ${most} MiB at most`,
    );
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
