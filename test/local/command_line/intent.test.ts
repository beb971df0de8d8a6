/** Tests `countersign intent test` and `countersign intent diff`, which need no service. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../e2e/server.ts";
import { manifest } from "../../support/intents.ts";
import { openCommandLine } from "./open_command_line.ts";

/** Runs `countersign intent test` with scenarios in YAML. */
async function runIntentTest(scenarios: string, intent: object = manifest()) {
  const folder = await temporaryFolder();
  const [intentPath, path] = [join(folder, "intent.json"), join(folder, "scenarios.yaml")];
  await Promise.all([writeFile(intentPath, JSON.stringify(intent)), writeFile(path, scenarios)]);
  const { call, requests } = await openCommandLine({ intent: null });
  const result = await call(["intent", "test", intentPath, path]);
  return { ...result, call, path, intentPath, requests };
}

const scenario = (status: number) =>
  `[{ name: who, when: { by: ana, request: GET /api/product/intent }, expect: { status: ${status} } }]`;

test("`intent test` runs scenarios without a service", async () => {
  const { code, out, err, requests } = await runIntentTest(scenario(200));
  expect({ code, out, err, requests }).toEqual({
    code: 0,
    out: "ok    who\n1 scenario passes\n",
    err: "",
    requests: [],
  });
});

test("`intent test` exits with code 1 if a scenario fails, and shows the difference", async () => {
  const { code, out, path } = await runIntentTest(scenario(404));
  expect([code, out]).toEqual([1, expect.stringContaining(`${path}:1: status expected 404, got 200\n`)]);
});

test.each<[file: string, scenarios: string, overrides: Record<string, unknown>, message: RegExp]>([
  ["scenarios", "- nam: x", {}, /^countersign: \S+scenarios\.yaml: line 1, scenario 1: .* did you mean name\?/],
  ["intent", scenario(200), { version: 1 }, /^countersign: \S+intent\.json: version must be text/],
])("intent test names the file of invalid %s", async (_, scenarios, overrides, message) => {
  const { code, err } = await runIntentTest(scenarios, manifest(overrides));
  expect([code, err]).toEqual([1, expect.stringMatching(message)]);
});

test("`intent test` with its arguments in the wrong order names the right order", async () => {
  const { call, path, intentPath } = await runIntentTest("- name: who", manifest());
  const { code, err } = await call(["intent", "test", path, intentPath]);
  expect([code, err]).toEqual([1, expect.stringMatching(/is not valid JSON.*; expected INTENT then SCENARIOS\n$/)]);
});

test("`intent diff` exits with code 1 if the new intent allows more, otherwise with 0", async () => {
  const folder = await temporaryFolder();
  const [wide, narrow] = [join(folder, "wide.json"), join(folder, "narrow.json")];
  // The default manifest has version 2026.11 and update epoch 3, and no time limit of consents.
  await writeFile(wide, JSON.stringify(manifest({ update_epoch: 4 })));
  await writeFile(narrow, JSON.stringify(manifest({ policy: { consent_ttl_hours: 72 } })));
  const { call } = await openCommandLine({ intent: null });
  const sentence = "A change without consent now waits as long as it takes; it was 72 hours.";
  // `+` marks a difference that allows more, `-` one that allows less.
  expect(await call(["intent", "diff", narrow, wide])).toEqual({ code: 1, out: `+ ${sentence}\n`, err: "" });
  const { code, out } = await call(["intent", "diff", narrow, wide, "--json"]);
  expect([code, JSON.parse(out)]).toEqual([
    1,
    {
      old: { version: "2026.11", update_epoch: 3, manifest_hash: expect.any(String) },
      new: { version: "2026.11", update_epoch: 4, manifest_hash: expect.any(String) },
      differences: [{ effect: "wider", field: "policy.consent_ttl_hours", text: sentence }],
    },
  ]);
  const back = await call(["intent", "diff", wide, narrow]);
  expect([back.code, back.out]).toEqual([0, expect.stringMatching(/^- A change without consent now waits 72 hours/)]);
});

test("`intent diff` of equal intents says that they do not differ", async () => {
  const folder = await temporaryFolder();
  const [old, next] = [join(folder, "old.json"), join(folder, "new.json")];
  await writeFile(old, JSON.stringify(manifest()));
  await writeFile(next, JSON.stringify(manifest({ update_epoch: 4, version: "2026.12" })));
  const { call } = await openCommandLine({ intent: null });
  expect(await call(["intent", "diff", old, next])).toEqual({
    code: 0,
    out: "both intents allow the same\n",
    err: "",
  });
});
