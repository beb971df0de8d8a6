/**
 * npm run bench:ofrep: evaluations of flags with and without stages, in turn with a node:http server that parses the same JSON
 * and answers as many bytes. Exit code 1: the processor time of node:http, divided by that of the service, is below 0.6.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { processorTime } from "./cpu_time.mjs";
import { findChangeId, load, median } from "./load.mjs";
import { endAll, startReference, startService, stop, temporaryFolder, where } from "./programs.mjs";

const MIN_RATIO = 0.6;
const ROUNDS = 7;
const REQUESTS = 4_000;
const WARM_UP = 10_000;
const FLAGS = 20;
const USERS = 1_000;

const PATH = "/ofrep/v1/evaluate/flags";
const INTENT = new URL("../../dist/local/example/product_intent.json", import.meta.url);
/** The agent that feeds the samples of a rollout; it feeds none here. */
const FEEDER = "agent:analytics";
/** A rollout whose first step shows the new value to 3,000 of 10,000 users. */
const STAGES = {
  fed_by: FEEDER,
  steps: [{ share: 3000, advance: "manual", min_hours: 24 }],
  watch: [{ kpi: "conversion", kind: "binary", good: "up", allowed: 0.01 }],
};

/** Starts a service with applied flags; for the first `staged` flags a rollout of another value is at its first step. */
async function startWithFlags(staged) {
  const folder = await temporaryFolder();
  const intent = JSON.parse(await readFile(INTENT, "utf8"));
  intent.principals = { [FEEDER]: { kind: "agent", token_sha256: "a".repeat(64) } };
  const path = join(folder, "intent.json");
  await writeFile(path, JSON.stringify(intent));
  const service = await startService(folder, undefined, ["--product-intent", path]);
  const post = async (name, fields) => {
    const body = new URLSearchParams(fields);
    const answer = await fetch(`http://127.0.0.1:${service.port}/api/product/${name}`, { method: "POST", body });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${name} answered ${answer.status}: ${text}`);
    return text;
  };
  const applyFlag = async (number, fields) => {
    const proposal = { tenant_id: "t1", kind: "config", target: `flag.${number}`, summary: "A flag" };
    const change_id = findChangeId(Buffer.from(await post("propose", { ...proposal, ...fields })));
    await post("approve", { change_id, approver: "bo" });
    await post("apply", { change_id });
  };
  for (let number = 0; number < FLAGS; number++) {
    await applyFlag(number, { value: '"before"' });
    if (number < staged) await applyFlag(number, { value: '"after"', stages: JSON.stringify(STAGES) });
  }
  return service;
}

function jsonRequest(path, body) {
  const text = JSON.stringify(body);
  const head = [`POST ${path} HTTP/1.1`, "host: 127.0.0.1", "connection: keep-alive", "content-type: application/json"];
  return Buffer.from(`${head.join("\r\n")}\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
}

/** Contexts of users of one tenant, which OFREP reads from `targetingKey`. */
const contexts = Array.from({ length: USERS }, (_, user) => ({
  context: { targetingKey: "t1", userId: `user-${user}` },
}));
const singleFlag = contexts.map((body) => jsonRequest(`${PATH}/flag.0`, body));
const allFlags = contexts.map((body) => jsonRequest(PATH, body));

/** Loads a server and returns the figures of the load, with the processor time of a request in microseconds (NaN without /proc). */
async function measure(server, requests, count) {
  const before = await processorTime(server);
  const figures = await load({
    port: server.port,
    request: (number) => requests[number % USERS],
    expected: 200,
    count,
  });
  return { ...figures, cpu: ((await processorTime(server)) - before) / count };
}

let isMet = true;

/**
 * Prints how many times faster the service is than the reference, by processor time, or by rate where there is no /proc. The
 * ratio is below 1 while the service is slower. `isMet` becomes false if the ratio is too low.
 */
async function compare(name, service, reference, requests) {
  const { bytes } = await measure(service, requests, WARM_UP);
  await reference.setAnswerBytes(bytes);
  await measure(reference, requests, WARM_UP);
  const pairs = [];
  for (let round = 0; round < ROUNDS; round++)
    pairs.push({
      serviceFigures: await measure(service, requests, REQUESTS),
      referenceFigures: await measure(reference, requests, REQUESTS),
    });
  const medianOf = (figure) => median(pairs.map(figure));
  const cpuRatio = medianOf(({ serviceFigures, referenceFigures }) => referenceFigures.cpu / serviceFigures.cpu);
  const rateRatio = medianOf(
    ({ serviceFigures, referenceFigures }) => serviceFigures.perSecond / referenceFigures.perSecond,
  );
  const ratio = Number.isNaN(cpuRatio) ? rateRatio : cpuRatio;
  isMet &&= ratio >= MIN_RATIO;
  const [serviceCpu, referenceCpu] = [
    medianOf((pair) => pair.serviceFigures.cpu),
    medianOf((pair) => pair.referenceFigures.cpu),
  ].map((cpu) => cpu.toFixed(1));
  const rate = `${Math.round(medianOf((pair) => pair.serviceFigures.perSecond))}/s, ${rateRatio.toFixed(2)} of its rate`;
  console.log(
    `${name.padEnd(28)} ${ratio.toFixed(2)}  must ${MIN_RATIO}  ${serviceCpu} µs, ${referenceCpu} µs alone; ${rate}; ${Math.round(bytes)} bytes`,
  );
}

try {
  console.log(`${where}; ${ROUNDS} rounds of ${REQUESTS} requests over 64 connections; Node ${process.version}`);
  const reference = await startReference();
  for (const [title, staged] of [
    ["no stages", 0],
    ["3 with stages", 3],
    ["all with stages", FLAGS],
  ]) {
    const service = await startWithFlags(staged);
    await compare(`one flag, ${staged > 0 ? "with" : "no"} stages`, service, reference, singleFlag);
    await compare(`${FLAGS} flags, ${title}`, service, reference, allFlags);
    await stop(service);
  }
} finally {
  await endAll();
}
if (!isMet) process.exitCode = 1;
