/** Tests signals that do not end the program: SIGHUP reads the intent again, SIGUSR1 and SIGUSR2 do nothing. */
import { connect } from "node:net";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { test, WITH_INTENT, writeIntent } from "./in_folder.ts";
import { launch, type Process, serve, type Server } from "./server.ts";

const listEvents = async ({ url }: Server): Promise<string[]> => {
  const { entries } = (await (await fetch(`${url}/api/product/audit`)).json()) as { entries: { event_type: string }[] };
  return entries.map(({ event_type }) => event_type);
};
const readEpoch = async ({ url }: Server): Promise<number> =>
  ((await (await fetch(`${url}/api/product/intent`)).json()) as { update_epoch: number }).update_epoch;
const feed = async ({ url }: Server, kpi: string): Promise<number> =>
  (await fetch(`${url}/api/product/kpi`, { method: "POST", body: new URLSearchParams({ [kpi]: "0.2" }) })).status;

/** Resolves with the next log line that has a message. */
async function waitForNextLine(server: Process, message: string): Promise<string> {
  const from = server.stderr.length;
  const findLine = () => server.stderr.slice(from).find((line) => line.includes(`"message":"${message}"`));
  await expect.poll(findLine, { timeout: 15_000 }).toBeDefined();
  return findLine()!;
}

const REJECTED = "the intent was not replaced, and the current one stays in force";

test("SIGHUP puts an intent with a higher epoch into force, and rejects any other", async ({ cwd }) => {
  const server = await serve(cwd, WITH_INTENT);
  expect(await listEvents(server)).toEqual(["intent_in_force"]);
  expect(await feed(server, "churn")).toBe(400);
  const sendHup = (message: string) => {
    const line = waitForNextLine(server, message);
    server.child.kill("SIGHUP");
    return line;
  };

  const kpis = { churn: { baseline: 0.2, target: 0.1 } };
  const policy = { minor: { kinds: ["config"], targets: ["ui.x"] }, forbidden_targets: ["ui.*"] };
  await writeIntent(cwd, "intent.json", { update_epoch: 2, kpis, policy });
  expect(await sendHup("intent in force")).toContain('"update_epoch":2');
  expect(server.stderr.join("\n")).toContain("a rule may not work as meant: policy.minor.targets.0 ui.x has no effect");
  expect(await readEpoch(server)).toBe(2);
  expect(await feed(server, "churn")).toBe(200);

  await sendHup("the intent has not changed");
  const rejected: [string, () => Promise<void>][] = [
    ["raise update_epoch", () => writeIntent(cwd, "intent.json", { update_epoch: 2, version: "other" })],
    ["raise update_epoch", () => writeIntent(cwd, "intent.json", { update_epoch: 1 })],
    // The error about the misspelt rule suggests this one.
    ["forbidden_targets", () => writeIntent(cwd, "intent.json", { update_epoch: 3, policy: { forbiden_targets: [] } })],
    ["product_id", () => writeIntent(cwd, "intent.json", { update_epoch: 3, product_id: "other" })],
    ["JSON", () => writeFile(join(cwd, "intent.json"), "{")],
    ["ENOENT", () => rm(join(cwd, "intent.json"))],
  ];
  for (const [reason, change] of rejected) {
    await change();
    const line = await sendHup(REJECTED);
    expect(line).toContain('"level":"ERROR"');
    expect(line).toContain(reason);
  }
  expect(await readEpoch(server)).toBe(2);
  expect((await listEvents(server)).filter((type) => type === "intent_in_force")).toHaveLength(2);
});

test("SIGUSR1 opens no inspector, and SIGUSR2 does nothing", async ({ cwd }) => {
  const server = await serve(cwd);
  server.child.kill("SIGUSR1");
  server.child.kill("SIGUSR2");
  const line = waitForNextLine(server, "there is no intent to read again: --product-intent is not set");
  server.child.kill("SIGHUP");
  await line;
  expect(server.stderr.join("\n")).not.toContain("Debugger listening");
  // The inspector would listen on its default port.
  const connected = await new Promise<boolean>((resolve) => {
    const socket = connect(9229, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
  expect(connected).toBe(false);
  expect((await fetch(`${server.url}/livez`)).status).toBe(200);
});

test("an older intent, or another of its epoch, does not start even if the newer wrote nothing", async ({ cwd }) => {
  await writeIntent(cwd, "newer.json", { update_epoch: 4 });
  const first = await serve(cwd, ["--product-intent", "newer.json"]);
  first.child.kill("SIGTERM");
  expect(await first.ended).toMatchObject({ code: 0 });
  await writeIntent(cwd, "same.json", { update_epoch: 4, version: "other" });
  // The intent.json of each test's folder has epoch 1.
  for (const name of ["intent.json", "same.json"]) {
    const failed = await launch(cwd, ["--port=0", "--product-intent", name]);
    expect(await failed.ended).toMatchObject({ code: 1 });
    const lines = failed.stderr.filter((line) => !line.startsWith("{"));
    expect(lines).toEqual([expect.stringMatching(`^ui_server: .*--product-intent ${name}: .*raise update_epoch`)]);
  }
});

test("a permission that nobody can use is a warning at the start", async ({ cwd }) => {
  const policy = { permissions: { apply: ["bo"] }, signed_only: false };
  await writeIntent(cwd, "intent.json", { principals: { bo: { kind: "person" } }, policy });
  const { stderr } = await serve(cwd, WITH_INTENT);
  expect(stderr.join("\n")).toContain("policy.permissions.apply lists only people without a key");
});

test("contradictory rules are warnings at the start, as --check-intent prints them", async ({ cwd }) => {
  const policy = { owners: [{ targets: ["billing.x"], approvers: ["bo"] }], forbidden_targets: ["billing.*"] };
  await writeIntent(cwd, "intent.json", { policy });
  const checked = await launch(cwd, ["--check-intent", "intent.json"]);
  await checked.ended;
  const contradictions = checked.stdout.flatMap((line) => (line.startsWith("! ") ? [line.slice(2)] : []));
  expect(contradictions).toEqual([expect.stringMatching(/^policy\.owners\.0\.targets\.0 billing\.x has no effect/)]);
  const { stderr } = await serve(cwd, WITH_INTENT);
  const warnings = stderr.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
  expect(warnings).toContainEqual(
    expect.objectContaining({ level: "WARN", message: `a rule may not work as meant: ${contradictions[0]}` }),
  );
});
