/** The rule `cs1` in Python makes the same decisions as the one in TypeScript, for all vectors and random plans. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { decideStep, type Decision } from "../../../lib/rollout/rule.ts";
import { randomFeed } from "./random_plans.ts";
import vectors from "./vectors.json" with { type: "json" };
import { readPlan, readState } from "./vectors.ts";

/** Number of random plans, which `ROLLOUT_PLANS=20000` raises. */
const PLAN_COUNT = Number(process.env["ROLLOUT_PLANS"] ?? 300);
const DOCS = join(import.meta.dirname, "../../../docs");
const DRIVER = `
import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import verify_audit
for line in sys.stdin:
    name, *args = json.loads(line)
    print(json.dumps(getattr(verify_audit, name)(*args), allow_nan=False))
`;

/** Calls functions of verify_audit.py. */
function callPython(calls: readonly (readonly [name: string, ...args: unknown[]])[]): unknown[] {
  const input = calls.map((call) => JSON.stringify(call)).join("\n");
  const options = { input, encoding: "utf8", maxBuffer: 2 ** 30 } as const;
  return execFileSync("python3", ["-c", DRIVER, DOCS], options)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

/** Rounds numbers to 9 digits, as an auditor compares them. */
const roundNumbers = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, member: unknown) =>
    typeof member === "number" && !Number.isInteger(member) ? Number(member.toPrecision(9)) : member,
  );

function isNear(a: unknown, b: unknown): boolean {
  if (typeof a === "number" && typeof b === "number")
    return Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b));
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const [first, second] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].every((name) => isNear(first[name], second[name]));
}

test("Python decides each vector like TypeScript, and finds the bucket of each unit", () => {
  const answers = callPython([
    ...vectors.cases.map((vector) => ["decide_step", readPlan(vector), readState(vector)] as const),
    ...vectors.buckets.map(({ salt, key }) => ["bucket_of", salt, key] as const),
  ]);
  const decisions = vectors.cases.map((vector) => decideStep(readPlan(vector), readState(vector)));
  const buckets = vectors.buckets.map(({ bucket }) => bucket);
  expect(roundNumbers(answers)).toEqual(roundNumbers([...decisions, ...buckets]));
});

test(`Python decides ${PLAN_COUNT} random plans as TypeScript does`, () => {
  const BATCH = 2000;
  const counts = new Map<string, number>();
  const differing: unknown[] = [];
  for (let from = 0; from < PLAN_COUNT; from += BATCH) {
    const feeds = Array.from({ length: Math.min(BATCH, PLAN_COUNT - from) }, (_, index) => randomFeed(from + index));
    const decisions = callPython(feeds.map(({ plan, state }) => ["decide_step", plan, state]));
    for (const [index, { plan, state }] of feeds.entries()) {
      const decision: Decision = decideStep(plan, state);
      if (!isNear(decision, decisions[index]))
        differing.push({ seed: from + index, decision, python: decisions[index] });
      const kind = `${decision.decision} ${decision.reason}`;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    }
  }
  expect(differing.slice(0, 3)).toEqual([]);
  if (PLAN_COUNT > 300) process.stdout.write(`${PLAN_COUNT} plans: ${JSON.stringify(Object.fromEntries(counts))}\n`);
  // Each of these reasons occurred.
  const KINDS = ["worse", "mismatch", "impossible_data", "no_data", "manual", "min_hours", "not_yet", "proven"];
  expect([...counts.keys()].map((kind) => kind.split(" ")[1])).toEqual(expect.arrayContaining(KINDS));
}, 600_000);
