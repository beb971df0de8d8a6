/** The rule `cs1` in Python decides as the one in TypeScript: on all vectors, and on random plans. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { decideStep, type Decision } from "../../../lib/rollout/rule.ts";
import { randomFeed } from "./random_plans.ts";
import vectors from "./vectors.json" with { type: "json" };
import { readPlan, readState } from "./vectors.ts";

/** `ROLLOUT_PLANS=20000` compares as many; a plan that differs is named by its seed. */
const PLANS = Number(process.env["ROLLOUT_PLANS"] ?? 300);
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

/** Runs functions of verify_audit.py. */
function python(calls: readonly (readonly [name: string, ...args: unknown[]])[]): unknown[] {
  const input = calls.map((call) => JSON.stringify(call)).join("\n");
  const options = { input, encoding: "utf8", maxBuffer: 2 ** 30 } as const;
  return execFileSync("python3", ["-c", DRIVER, DOCS], options)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

/** Numbers to 9 digits, as an auditor compares them. */
const coarse = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, member: unknown) =>
    typeof member === "number" && !Number.isInteger(member) ? Number(member.toPrecision(9)) : member,
  );

const isNear = (a: unknown, b: unknown): boolean =>
  typeof a === "number" && typeof b === "number"
    ? Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b))
    : typeof a === "object" && typeof b === "object" && a !== null && b !== null
      ? [...new Set([...Object.keys(a), ...Object.keys(b)])].every((name) =>
          isNear((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]),
        )
      : a === b;

test("Python decides each vector as it is written, and puts each unit into its bucket", () => {
  const answers = python([
    ...vectors.cases.map((vector) => ["decide_step", readPlan(vector), readState(vector)] as const),
    ...vectors.buckets.map(({ salt, key }) => ["bucket_of", salt, key] as const),
  ]);
  const decisions = vectors.cases.map((vector) => decideStep(readPlan(vector), readState(vector)));
  const buckets = vectors.buckets.map(({ bucket }) => bucket);
  expect(coarse(answers)).toEqual(coarse([...decisions, ...buckets]));
});

test(`Python decides ${PLANS} random plans as TypeScript does`, () => {
  const SLICE = 2000;
  const seen = new Map<string, number>();
  const differing: unknown[] = [];
  for (let from = 0; from < PLANS; from += SLICE) {
    const feeds = Array.from({ length: Math.min(SLICE, PLANS - from) }, (_, index) => randomFeed(from + index));
    const decisions = python(feeds.map(({ plan, state }) => ["decide_step", plan, state]));
    for (const [index, { plan, state }] of feeds.entries()) {
      const own: Decision = decideStep(plan, state);
      if (!isNear(own, decisions[index])) differing.push({ seed: from + index, own, python: decisions[index] });
      const kind = `${own.decision} ${own.reason}`;
      seen.set(kind, (seen.get(kind) ?? 0) + 1);
    }
  }
  expect(differing.slice(0, 3)).toEqual([]);
  if (PLANS > 300) process.stdout.write(`${PLANS} plans: ${JSON.stringify(Object.fromEntries(seen))}\n`);
  // All kinds of decisions were compared.
  const KINDS = ["worse", "mismatch", "impossible_data", "no_data", "manual", "min_hours", "not_yet", "proven"];
  expect([...seen.keys()].map((kind) => kind.split(" ")[1])).toEqual(expect.arrayContaining(KINDS));
}, 600_000);
