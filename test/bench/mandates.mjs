/**
 * npm run bench:mandates: measures the time from an agent's proposal until its change is applied, with 50 proposals a second on
 * a file store: inside a mandate, where the service approves and applies the change, and with an approval that a person signs.
 * CHANGES sets the number of measured proposals. Exit code 1: the 99th percentile inside a mandate is above a second.
 */
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { endAll, startService, stop, temporaryFolder, where } from "./programs.mjs";

const MAX_P99_MS = 1000;
const PER_SECOND = 50;
const COUNT = Number(process.env.CHANGES ?? 1000);
const WARM_UP = 100;
const TARGETS = 200;
const POLL_MS = 20;
const SECRET = "the agent's secret";
const AS_AGENT = { authorization: `Bearer ${SECRET}` };

/** Builds and imports the signing keys of the tests. */
async function loadSigningKeys() {
  const outfile = join("node_modules/.cache/countersign", "signing_keys.mjs");
  await build({
    entryPoints: ["test/support/passkeys.ts"],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
  });
  return import(pathToFileURL(join(process.cwd(), outfile)).href);
}

const { sshSigner } = await loadSigningKeys();
const signers = { ana: sshSigner(), bo: sshSigner() };

function makeIntent() {
  const people = Object.fromEntries(
    Object.entries(signers).map(([name, { key }]) => [name, { kind: "person", keys: [key] }]),
  );
  const agent = {
    kind: "agent",
    token_sha256: createHash("sha256").update(SECRET).digest("hex"),
    may: { max_open: 100_000, max_per_day: 100_000 },
  };
  return {
    product_id: "acme-crm",
    version: "1",
    approved_by: "ana",
    update_epoch: 1,
    principals: { ...people, "agent:pricing": agent },
    policy: {
      approvers: ["ana", "bo"],
      required_approvers: { standard: 1, major: 2 },
      apply_when: ["manual", "approved"],
      mandates: { targets: ["price.*"], max_per_day: 100_000, max_open: 1000, apply_when: true },
    },
  };
}

async function open() {
  const folder = await temporaryFolder();
  const intent = join(folder, "intent.json");
  await writeFile(intent, JSON.stringify(makeIntent()));
  const service = await startService(folder, undefined, ["--product-intent", intent]);
  const call = async (method, path, body, headers = {}) => {
    const answer = await fetch(`http://127.0.0.1:${service.port}/api/product/${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
    return JSON.parse(text);
  };
  const sign = async (path, decision, approver, fields) => {
    const { statement } = await call("POST", "consent-statement", { decision, approver, ...fields });
    const proof = signers[approver].sign(statement);
    return call("POST", path, { approver, ...fields, proof, at: JSON.parse(statement).at });
  };
  const until = new Date(Date.now() + 20 * 24 * 3600 * 1000).toISOString();
  const bounds = { agent: "agent:pricing", targets: ["price.*"], kinds: ["config"], tenants: ["t1"], until };
  const { mandate_id } = await call("POST", "mandates", { ...bounds, max_affected_users: 100 });
  for (const name of ["ana", "bo"]) await sign("mandate-sign", "mandate", name, { mandate_id });
  return { service, call, sign };
}

/**
 * Proposes `count` changes at a fixed rate, independent of response times. A change is `isInside` if the mandate covers it. Returns
 * the sorted times from proposal to apply, in milliseconds.
 */
async function drive({ call, sign }, count, isInside) {
  const applyChange = async (number) => {
    const began = performance.now();
    const { change_id, status } = await call(
      "POST",
      "propose",
      {
        tenant_id: "t1",
        kind: "config",
        target: `price.${number % TARGETS}`,
        value: number,
        summary: "Follow the market",
        // The mandate allows 100 affected users at most.
        affected_users: isInside ? 10 : 1000,
        risk: "low",
        reversible: true,
        apply_when: "approved",
      },
      AS_AGENT,
    );
    if ((status === "approved") !== isInside) throw new Error(`${change_id} is ${status}`);
    if (!isInside) await sign("approve", "approve", "ana", { change_id });
    let currentStatus = "approved";
    while (currentStatus === "approved") {
      ({ status: currentStatus } = await call("GET", `changes/${change_id}`));
      if (currentStatus === "approved") await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    if (currentStatus !== "applied") throw new Error(`${change_id} is ${currentStatus}`);
    return performance.now() - began;
  };
  const began = performance.now();
  const started = [];
  for (let number = 0; number < count; number++) {
    const wait = began + (number * 1000) / PER_SECOND - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    started.push(applyChange(number));
  }
  return (await Promise.all(started)).sort((a, b) => a - b);
}

const quantile = (sorted, fraction) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))];

try {
  const bench = await open();
  const latencies = {};
  for (const [name, isInside] of [
    ["inside a mandate", true],
    ["approved by a person", false],
  ]) {
    await drive(bench, WARM_UP, isInside);
    latencies[name] = await drive(bench, COUNT, isInside);
    const [p50, p99] = [0.5, 0.99].map((fraction) => quantile(latencies[name], fraction).toFixed(1));
    console.log(`${name}: p50 ${p50} ms, p99 ${p99} ms of ${COUNT} changes, ${PER_SECOND} a second (${where})`);
  }
  const [inside, person] = Object.values(latencies).map((sorted) => quantile(sorted, 0.99));
  console.log(
    `p99 of a person's approval over that of a mandate: ${(person / inside).toFixed(2)}; must be ${MAX_P99_MS} ms at most: ${inside.toFixed(1)} ms`,
  );
  await stop(bench.service);
  if (inside > MAX_P99_MS) process.exitCode = 1;
} finally {
  await endAll();
}
