/**
 * node test/bench/link.mjs [--short]: questions and answers a second over the cross-host link, next to the same as plain
 * JSON lines over TCP, in one run: two processes, one connection, 64 questions under way. Prints the ratio.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { median } from "./load.mjs";

const UNDER_WAY = 64;
const short = process.argv.includes("--short");
const ROUNDS = short ? 3 : 7;
const SECONDS = short ? 0.5 : 2;

const question = { path: "/api/product/identity", method: "GET" };
const insight = {
  insight_id: "ins_0123456789abcdef",
  kind: "config",
  target: "ui.banner",
  kpi: "csat",
  verdict: "met",
};
const answer = {
  status: 200,
  body: { product_id: "acme-crm", insights: [insight, insight, insight], next: 3, last: 3 },
};

const clock = { now: Date.now };
const timers = {
  now: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Exchanges lines of JSON; calls `onMessage` for each received line and returns a function that sends one. */
function lines(socket, onMessage) {
  let rest = "";
  socket.setNoDelay(true);
  socket.setEncoding("utf8").on("data", (text) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    for (const part of parts) onMessage(JSON.parse(part));
  });
  let out = "";
  return (message) => {
    if (out === "")
      process.nextTick(() => {
        socket.write(out);
        out = "";
      });
    out += `${JSON.stringify(message)}\n`;
  };
}

function linkOver(link, socket, role, onEstablished = () => {}) {
  const digit = role === "client" ? "a" : "b";
  const self = { peer_id: digit.repeat(32), instance_id: digit, product_id: "acme-crm", product_type: null };
  return link.openConnection({
    socket,
    role,
    address: "bench",
    self,
    keys: [link.deriveSecretKey("a secret of the bench, long enough")],
    clock,
    timers,
    answer: async () => answer,
    onEstablished,
    onClosed: () => {},
  });
}

async function serve(link) {
  const listen = async (onSocket) => {
    const server = createServer(onSocket).listen(0, "127.0.0.1");
    await once(server, "listening");
    return server.address().port;
  };
  const plain = await listen((socket) => {
    // Waits for the answer, as the link waits for its `answer` function.
    const send = lines(socket, async ({ id }) => send({ id, ...(await Promise.resolve(answer)) }));
  });
  process.send({ plain, linked: await listen((socket) => linkOver(link, socket, "server")) });
}

async function askPlain(port) {
  const waiting = new Map();
  const send = lines(connect(port, "127.0.0.1"), (message) => {
    waiting.get(message.id)(message);
    waiting.delete(message.id);
  });
  let id = 0;
  return () =>
    new Promise((resolve) => {
      waiting.set(++id, resolve);
      send({ id, message: "query", body: question });
    });
}

function askLinked(link, port) {
  return new Promise((resolve) => {
    linkOver(link, connect(port, "127.0.0.1"), "client", (connection) =>
      resolve(() => connection.ask("query", question)),
    );
  });
}

/** Returns the responses a second with 64 concurrent questions. */
async function rate(ask) {
  const end = performance.now() + SECONDS * 1000;
  let answered = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: UNDER_WAY }, async () => {
      while (performance.now() < end) {
        await ask();
        answered++;
      }
    }),
  );
  return answered / ((performance.now() - started) / 1000);
}

async function bundled(folder) {
  const outfile = join(folder, "link.mjs");
  const local = new URL("../../local/link/connection.ts", import.meta.url);
  const keys = new URL("../../lib/link/keys.ts", import.meta.url);
  await esbuild.build({
    stdin: {
      contents: [local, keys].map(({ pathname }) => `export * from ${JSON.stringify(pathname)};`).join("\n"),
      resolveDir: fileURLToPath(new URL(".", import.meta.url)),
    },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
  });
  return outfile;
}

// This program starts itself a second time: the child process answers the questions that the first process asks.
if (process.send) {
  await serve(await import(process.argv[2]));
} else {
  const folder = await mkdtemp(join(tmpdir(), "countersign-bench-link-"));
  const path = await bundled(folder);
  const child = fork(fileURLToPath(import.meta.url), [path]);
  try {
    const [{ plain, linked }] = await once(child, "message");
    const asks = { linked: await askLinked(await import(path), linked), plain: await askPlain(plain) };
    // Warms up both; the results are not used.
    for (const ask of Object.values(asks)) await rate(ask);
    const pairs = [];
    for (let round = 0; round < ROUNDS; round++)
      pairs.push({ linked: await rate(asks.linked), plain: await rate(asks.plain) });
    const medianRate = (name) => Math.round(median(pairs.map((pair) => pair[name])));
    const ratio = median(pairs.map((pair) => pair.linked / pair.plain));
    console.log(`${ROUNDS} rounds of ${SECONDS} s each, in turn; Node ${process.version}`);
    console.log(
      `questions answered over the link: ${medianRate("linked")}/s against ${medianRate("plain")}/s as plain JSON lines, ratio ${ratio.toFixed(3)}`,
    );
  } finally {
    child.kill();
    await rm(folder, { recursive: true, force: true });
  }
  process.exit(0);
}
