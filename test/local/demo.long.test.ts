/** Runs `npm run demo` on the built program: to its end with --once, and with the test as the user. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { program } from "../e2e/server.ts";

const ROOT = join(import.meta.dirname, "../..");

let dist: string;
beforeAll(async () => {
  dist = dirname(dirname(await program()));
}, 120_000);

/** A running demo, with its output and its folder for temporary files. */
interface Demo {
  child: ChildProcess;
  lines(): string[];
  /** Resolves with the match as soon as the output, joined to one line, matches; rejects if the demo ends first. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  ended: Promise<[number | null, NodeJS.Signals | null]>;
  errors(): string;
  temporary: string;
}

function startDemo(...options: string[]): Demo {
  const temporary = mkdtempSync(join(tmpdir(), "demo-"));
  const child = spawn(process.execPath, ["local/demo/main.mjs", "--dist", dist, ...options], {
    cwd: ROOT,
    // Environment variables for a real service must not change the demo.
    env: { PATH: process.env["PATH"], TMPDIR: temporary, SVC_PORT: "1", SVC_PROTECT_READS: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [printed, errorText] = ["", ""];
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errorText += text));
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const ended = once(child, "close") as Demo["ended"];
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null && child.kill("SIGKILL")) await ended;
  });
  const waitFor = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const check = () => {
        const match = pattern.exec(printed.replaceAll(/\s+/g, " "));
        if (match) resolve(match);
      };
      child.stdout.on("data", check);
      void ended.then(() => reject(new Error(`it ended without ${pattern}:\n${printed}\n${errorText}`)));
      check();
    });
  return { child, lines: () => printed.trimEnd().split("\n"), waitFor, ended, errors: () => errorText, temporary };
}

/** Returns the printed addresses and token, as soon as a change waits for the user's consent. */
async function readPrintedAddresses({ waitFor }: Demo) {
  const [, shop, service] = await waitFor(/shop (http:\S+) console (http:\S+)/);
  const [, id] = await waitFor(/waits for you: http:\S+\/#\/changes\/(chg_\S+)/);
  const [, token] = await waitFor(/which the agent does not have: (\w+)\./);
  const request = async (path: string, fields?: Record<string, string>, headers: Record<string, string> = {}) => {
    const body = fields && { method: "POST", headers, body: new URLSearchParams(fields) };
    const response = await fetch(new URL(path, service), body);
    return { status: response.status, body: await response.json() };
  };
  return {
    shop: shop!,
    service: service!,
    id: id!,
    request,
    readShopPage: async () => (await fetch(shop!)).text(),
    act: (name: string, fields: Record<string, string> = {}) =>
      request(`api/product/${name}`, { change_id: id!, ...fields }, { "x-svc-admin-token": token! }),
  };
}

/** Opens a connection; returns a promise that resolves when the other end has closed it. */
async function openConnection(url: string): Promise<{ closed: Promise<unknown> }> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  // A process that is killed resets its connections.
  return {
    closed: new Promise(
      (resolve) =>
        void socket
          .resume()
          .on("error", () => {})
          .on("close", resolve),
    ),
  };
}

test("the shop shows only approved and applied values; Ctrl-C leaves no process or file", async () => {
  const running = startDemo();
  const { shop, service, id, request, readShopPage, act } = await readPrintedAddresses(running);

  // Rolled back values are removed, other applied values are shown, and the last change waits.
  for (const text of ["Free delivery from €45", "Pay as a guest", "We deliver"])
    expect(await readShopPage()).toContain(text);
  const { body: pending } = await request(`api/product/changes/${id}`);
  expect(pending).toMatchObject({ status: "pending_consent", proposer: "agent:shopkeeper", proposer_kind: "agent" });
  expect(await act("apply")).toMatchObject({ status: 400, body: { code: "illegal_transition" } });
  expect(await request("api/product/approve", { change_id: id, approver: "bo" })).toMatchObject({ status: 401 });
  expect(await readShopPage()).toContain("We deliver");

  expect((await act("approve", { approver: "bo" })).status).toBe(200);
  await running.waitFor(/bo consents\. Nothing has changed yet: the shop says "We deliver"/);
  expect(await readShopPage()).toContain("We deliver");
  expect((await act("apply")).status).toBe(200);
  expect(await readShopPage()).toContain("Order today");
  const [, entries] = await running.waitFor(
    /It is applied, and the shop says "Order today[^"]*"\. The log has (\d+) entries/,
  );

  const { body: log } = await request("api/product/audit?limit=1000");
  expect(log.entries).toHaveLength(Number(entries));
  const { body: verified } = await request("api/product/audit/verify");
  expect(verified).toMatchObject({ valid: true, length: Number(entries) });
  const { body: outcomes } = await request("api/product/outcomes");
  expect(outcomes.outcomes).toMatchObject([
    { change_id: id, verdict: "too_early" },
    { kpi: "checkout_rate", verdict: "regressed", ended_by: "guardrail" },
    { kpi: "basket_value", verdict: "met", state: "final" },
  ]);

  expect((await act("rollback")).status).toBe(200);
  await running.waitFor(/It is taken back, and the shop says "We deliver" again/);
  expect(await readShopPage()).toContain("We deliver");

  const connections = await Promise.all([shop, service].map(openConnection));
  running.child.kill("SIGINT");
  expect(await running.ended).toEqual([0, null]);
  await Promise.all(connections.map(({ closed }) => closed));
  expect(readdirSync(running.temporary)).toEqual([]);
  expect(running.errors()).toBe("");
});

test("with --once the demo prints all its steps in the width of a terminal, and ends", async () => {
  const running = startDemo("--once");
  expect(await running.ended).toEqual([0, null]);
  expect(running.errors()).toBe("");
  const lines = running.lines();
  // Lines with addresses may be longer.
  expect(lines.filter((line) => line.length > 100 && !line.includes("http://"))).toEqual([]);
  expect(lines.length).toBeLessThan(36);
  const reported = lines.join(" ").replaceAll(/\s+/g, " ");
  const steps = [
    /1\. The agent proposes.* waits for consent; the shop still says "Free delivery from €35"/,
    /2\. .*refused \(403 agent_may_not\)/,
    /3\. Ana consents.* now says "Free delivery from €45"/,
    /4\. A week passes.* the verdict is "met"/,
    /5\. .*"Sign in to pay".* The shop says "Pay as a guest" again; the verdict is "regressed"/,
    /6\. countersign-verify.* all \d+ entries hold/,
    /7\. .* waits for you: http:/,
    /bo@teashop\.example consents\. Nothing has changed yet: the shop says "We deliver"/,
    /It is applied, and the shop says "Order today.* entries now, and holds\. Everything has ended/,
  ];
  expect(reported).toMatch(new RegExp(steps.map(({ source }) => source).join(".*")));
  expect(readdirSync(running.temporary)).toEqual([]);
});

test("a killed demo leaves no process running", async () => {
  const running = startDemo();
  const { shop, service } = await readPrintedAddresses(running);
  const connections = await Promise.all([shop, service].map(openConnection));
  running.child.kill("SIGKILL");
  await Promise.all([running.ended, ...connections.map(({ closed }) => closed)]);
});

test("without a built program it says what is missing", async () => {
  const running = startDemo("--dist", "nowhere");
  expect(await running.ended).toEqual([1, null]);
  expect(running.errors()).toMatch(/^The demo failed: there is no built program in \S+nowhere/);
  expect(readdirSync(running.temporary)).toEqual([]);
});
