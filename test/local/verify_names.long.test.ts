/** Verifies that both verifiers compare names as the service does, in many scripts. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { normalizeName } from "../../lib/changes/rules/names.ts";
import { normalizeName as normalizeInVerifier } from "../../local/verify/policy.ts";
import { pythonMissing } from "../tamper/verifiers.ts";

/** White space, letters whose case folding or normalization is special, a zero-width character, and an emoji. */
const NAMES = [" Ana  Meier\n", "Ana", "STRAßE", "ẞ", "ıda", "İda", "Οδυσσεύς", "Kim", "Ꭰ", "ŉ", "علی‌رضا", "⚡️ ana"];

test("the verifier compares names as the service does", () => {
  expect(NAMES.map(normalizeInVerifier)).toEqual(NAMES.map(normalizeName));
});

test.skipIf(pythonMissing)("the verifier in Python compares names as the service does", () => {
  const script =
    'import json, sys; sys.path.insert(0, "docs"); import verify_audit; print(json.dumps([verify_audit.normalize_name(name) for name in json.load(sys.stdin)]))';
  const { stdout, stderr } = spawnSync("python3", ["-B", "-c", script], {
    input: JSON.stringify(NAMES),
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual(NAMES.map(normalizeName));
});
