/** Tests the proposal of plans from files, the example among them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../../e2e/server.ts";
import { openCommandLine } from "./open_command_line.ts";

const EXAMPLE = "examples/plans/relaunch.yaml";
const { sets, ...fields } = parse(readFileSync(EXAMPLE, "utf8")) as { sets: object[] };

const writePlan = (text: string): string => {
  const path = join(temporaryFolder(), "plan.yaml");
  writeFileSync(path, text);
  return path;
};

test("a plan is proposed from a file, decided and shown with each of its values", async () => {
  const { call, answer } = await openCommandLine({});
  const { change_id, ...change } = await answer(["plan", EXAMPLE, "--summary", "Another title"]);
  expect(change).toMatchObject({ ...fields, summary: "Another title", sets });
  const { out } = await call(["show", change_id]);
  for (const line of ["ui.banner for t-100: true", "limits.seats for t-100: 50"]) expect(out).toContain(line);
  expect((await call(["list"])).out).toContain("release.7 (3 targets)");
  await call(["approve", change_id, "--approver", "ana"]);
  expect((await call(["wait", change_id, "--timeout", "5"])).code).toBe(0);
});

test("a plan file may be only the list of entries, in YAML or JSON", async () => {
  const { answer } = await openCommandLine({});
  const options = ["--tenant-id", "t1", "--kind", "config", "--target", "release.8", "--summary", "s"];
  const change = await answer(["plan", writePlan(JSON.stringify(sets)), ...options]);
  expect(change).toMatchObject({ target: "release.8", sets });
});

test("numbers in notations that JSON would write differently are sent unchanged", async () => {
  const { answer } = await openCommandLine({});
  const values = ["-.5", "+1.50", "1.", "1e3", "010", "0.1"].map((value) => `{ value: { deep: ${value} } }`);
  const entries = values.map((value, index) => value.replace("{", `{ tenant_id: t1, target: ui.${index},`));
  const text = `{ tenant_id: t1, kind: config, target: r, summary: s, sets: [${entries.join(", ")}] }`;
  const change = await answer(["plan", writePlan(text)]);
  expect(change.sets.map((entry: { value: { deep: number } }) => entry.value.deep)).toEqual([
    -0.5, 1.5, 1, 1000, 10, 0.1,
  ]);
});

test.each([
  ["a number that would be rounded", "sets: [{ value: 9007199254740993 }]", "put it in quotes"],
  ["a fraction that would be rounded", "sets: [{ value: 9007199254740993.0 }]", "put it in quotes"],
  ["a fraction that begins with its point", "sets: [{ value: -.10000000000000000001 }]", "put it in quotes"],
  ["an exponent that would be rounded", "sets: [{ value: 9007199254740993.e0 }]", "put it in quotes"],
  ["an infinite number", "sets: [{ value: .inf }]", "put it in quotes"],
  ["no YAML", "sets: [", "is not YAML"],
  ["a set", "sets: [{ value: !!set {a, b} }]", "Unresolved tag"],
  ["bytes", "sets: [{ value: !!binary aGk= }]", "Unresolved tag"],
  ["a tag of its own", "sets: [{ value: !foo 1 }]", "Unresolved tag"],
  ["no proposal", "50", "has no proposal"],
])("a file with %s is rejected", async (_, text, message) => {
  const { call } = await openCommandLine({});
  const { code, err } = await call(["plan", writePlan(text)]);
  expect([code, err]).toEqual([1, expect.stringContaining(message)]);
});

test("the documented example of a job proposes the plan and waits for its approval", () => {
  const { jobs } = parse(readFileSync("examples/plans/github_actions.yml", "utf8")) as {
    jobs: { propose: { steps: { run?: string }[] } };
  };
  const script = jobs.propose.steps.at(-1)!.run!;
  expect(script).toContain("countersign plan plans/relaunch.yaml --rationale");
  expect(script).toContain('countersign wait "$change_id" --timeout 3600');
});
