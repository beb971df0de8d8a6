/**
 * Tests the options of `countersign-verify`, the files it reads and writes, and the lines of its reports. Exit codes: 0 valid,
 * 1 bad, 2 consistent, 3 wrongly called or a file that cannot be read.
 */
import { hash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { version } from "../../../package.json";
import { reportText } from "../../../local/verify/report.ts";
import type { Report } from "../../../local/verify/verify.ts";
import { keyPair } from "../../support/independent_witness.ts";
import { passkey } from "../../support/passkeys.ts";
import { service } from "../../support/service.ts";
import { decide, person } from "../../support/signed.ts";
import { makeSigner, newKey } from "../../tamper/world.ts";
import { runVerifier } from "./in_process.ts";

const ANA = passkey();
const INTENT = { principals: { ana: person(ANA) }, policy: { approvers: ["ana"] } };

const folder = mkdtempSync(join(tmpdir(), "verify-program-"));
afterAll(() => rmSync(folder, { recursive: true }));
const path = (name: string): string => join(folder, name);

let manifest: string;
let manifestHash: string;
beforeAll(async () => {
  const api = await service({ intent: INTENT, checkpointSigner: makeSigner(newKey()) });
  const { change_id } = await api.propose();
  await decide(api, ANA, "approve", { change_id, approver: "ana" });
  const { text } = await api.get(`changes/${change_id}/certificate`);
  // A part begins with a line `intent LENGTH`; the length includes the newline after the JSON.
  const header = /^intent (\d+)\n/m.exec(text)!;
  const begin = header.index + header[0].length;
  manifest = text.slice(begin, begin + Number(header[1]) - 1);
  manifestHash = hash("sha256", manifest);
  writeFileSync(path("one.certificate"), text);
  writeFileSync(
    path("without_intent.certificate"),
    text.slice(0, header.index) + text.slice(begin + Number(header[1])),
  );
  writeFileSync(path("keys.json"), JSON.stringify(INTENT));
  writeFileSync(path("audit.jsonl"), (await api.get("audit?format=jsonl")).text);
});

test("--version prints the version, but only alone", async () => {
  expect(await runVerifier(["--version"])).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
  expect((await runVerifier(["--version", "x"])).status).toBe(3);
  expect((await runVerifier(["x", "--version"])).status).toBe(3);
});

test("--help prints the usage, also of certificates, and ends with 0", async () => {
  for (const args of [["--help"], ["certificate", "--help"]])
    expect(await runVerifier(args)).toEqual({ status: 0, stdout: expect.stringMatching(/^Usage: /), stderr: "" });
});

test("an export and a certificate are reported as lines, or as one JSON object", async () => {
  const certificate = ["certificate", path("one.certificate")];
  expect((await runVerifier([path("audit.jsonl")])).stdout).toMatch(/^\S+audit\.jsonl: \d+ entries of "/);
  expect((await runVerifier(certificate)).stdout).toMatch(/^\S+one\.certificate: chg_\S+ in the log "/);
  for (const args of [[path("audit.jsonl")], certificate])
    expect(JSON.parse((await runVerifier([...args, "--json"])).stdout)).toMatchObject({ verdict: "consistent" });
});

test.each([
  ["certificate", "the certificate cannot be read: ENOENT"],
  ["export", "the export cannot be read: ENOENT"],
])("a missing %s is an error with exit code 3", async (form, message) => {
  const { status, stdout, stderr } = await runVerifier([...(form === "certificate" ? [form] : []), path("none")]);
  expect([status, stdout, stderr]).toEqual([3, "", `countersign-verify: ${message}\n`]);
});

test("control characters of an option's value are escaped in its error", async () => {
  const { stderr } = await runVerifier([path("audit.jsonl"), "--policy", "a\u001b[31m"]);
  expect(stderr).toContain("cannot be read: ENOENT");
  expect(stderr).not.toContain("\u001b");
});

const RECEIPT_RULE = "--expected-length N and --expected-head HEX go together: a number, and 64 lower-case hex digits";
const HEX = "0".repeat(64);

test.each([
  ["--expected-length 1", RECEIPT_RULE],
  ["--expected-head HEX", RECEIPT_RULE],
  ["--expected-length 01 --expected-head HEX", RECEIPT_RULE],
  ["--expected-length 1x --expected-head HEX", RECEIPT_RULE],
  ["--expected-length x1 --expected-head HEX", RECEIPT_RULE],
  ["--expected-length 1234567890123456 --expected-head HEX", RECEIPT_RULE],
  ["--expected-length 1 --expected-head HEX0", RECEIPT_RULE],
  ["--expected-length 1 --expected-head xHEX", RECEIPT_RULE],
  ["--expected-length 1 --expected-head A", RECEIPT_RULE],
  ["--quorum 1", "--quorum needs a --witness to count"],
  ["--witness w", "--witness needs a --checkpoint that it cosigned"],
  ["--key k", "--key needs a --checkpoint to verify"],
  ["--bogus", "unknown option --bogus; see --help"],
  ["again", "exactly one FILE is needed; see --help"],
])("an export with the options %s is an error", async (options, message) => {
  const args = options.split(" ").map((option) => option.replace("HEX", HEX));
  expect(await runVerifier([path("audit.jsonl"), ...args])).toEqual({
    ...{ status: 3, stdout: "" },
    stderr: `countersign-verify: ${message}\n`,
  });
});

test.each(["0", "2", "x1", "1x", "x", "10000"])("a quorum of %s of one witness is an error", async (quorum) => {
  writeFileSync(path("note"), `log\n1\n${Buffer.alloc(32).toString("base64")}\n\n`);
  const args = [path("audit.jsonl"), "--checkpoint", path("note"), "--witness", keyPair("w.example", 4).vkey];
  expect((await runVerifier([...args, "--quorum", quorum])).stderr).toBe(
    "countersign-verify: --quorum must be a number from 1 to 1, the witnesses given\n",
  );
});

test("the receipt of an empty log proves nothing, that of a longer log is a finding", async () => {
  const verdicts = ["0", "123456789012345"].map(async (length) => {
    const args = ["--expected-length", length, "--expected-head", HEX, "--json"];
    return (JSON.parse((await runVerifier([path("audit.jsonl"), ...args])).stdout) as Report).verdict;
  });
  expect(await Promise.all(verdicts)).toEqual(["consistent", "bad"]);
});

test("an accepted intent is 64 lower-case hex digits", async () => {
  const run = (value: string) => runVerifier(["certificate", path("one.certificate"), "--manifest-hash", value]);
  expect((await run(manifestHash)).status).toBe(2);
  expect((await run(HEX)).status).toBe(1);
  for (const value of [`${HEX}0`, `x${HEX}`, HEX.slice(1), HEX.replace("0", "A")])
    expect(await run(value)).toMatchObject({
      status: 3,
      stderr: expect.stringContaining("is 64 lower-case hex digits"),
    });
});

test("--keys replaces the keys of the intents", async () => {
  const other = path("other.json");
  writeFileSync(other, JSON.stringify({ principals: { ana: person(passkey()) } }));
  const run = (keys: string) => runVerifier(["certificate", path("one.certificate"), "--keys", keys]);
  expect((await run(path("keys.json"))).status).toBe(2);
  expect(await run(other)).toMatchObject({
    status: 1,
    stdout: expect.stringContaining("made by no key that the policy"),
  });
});

test("--intents adds the intents of a folder by the hash in their names, and no other files", async () => {
  const [own, others] = [path("intents"), path("other_names")];
  for (const name of [own, others]) mkdirSync(name);
  writeFileSync(join(own, `${manifestHash}.json`), manifest);
  for (const name of [`${manifestHash}.json.bak`, `x${manifestHash}.json`, `${manifestHash.slice(1)}.json`])
    writeFileSync(join(others, name), manifest);
  writeFileSync(join(others, `${"g".repeat(64)}.json`), "no JSON");
  const file = path("without_intent.certificate");
  const run = async (intents: string) => (await runVerifier(["certificate", file, "--intents", intents])).stdout;
  const complete = (await runVerifier(["certificate", path("one.certificate")])).stdout.replace(
    "one",
    "without_intent",
  );
  expect(await run(own)).toBe(complete);
  expect(await run(others)).toContain(manifestHash);
  expect(await run(others)).not.toBe(complete);
  expect(await runVerifier(["certificate", file, "--intents", path("none")])).toMatchObject({
    status: 3,
    stderr: `countersign-verify: --intents ${path("none")} cannot be read: ENOENT\n`,
  });
});

test("--extract writes the parts of a certificate, and overwrites no file", async () => {
  const args = ["certificate", path("one.certificate"), "--extract", path("new/parts")];
  expect((await runVerifier(args)).status).toBe(2);
  const names = readdirSync(path("new/parts"));
  expect(names).toContain(`intent-${manifestHash}.json`);
  expect(readFileSync(path(`new/parts/intent-${manifestHash}.json`), "utf8")).toBe(manifest);
  const first = path("new/parts/content.json");
  writeFileSync(first, "mine");
  expect(await runVerifier(args)).toMatchObject({
    status: 3,
    stderr: `countersign-verify: ${first} cannot be written: EEXIST\n`,
  });
  expect(readFileSync(first, "utf8")).toBe("mine");
});

const REPORT: Report = {
  ...{ verdict: "consistent", entries: 2, origin: "log", head: "00", findings: [], findings_total: 0 },
  ...{ held_against: [], witnessed: [], losses: [], contents: null, remarks: [], not_checked: [] },
  proofs: { verified: 0, as_named: 0, not_checked: 0, unsigned: 0 },
};
const NO_CONTENTS = { changes: 0, intents: 0, unfit: 0, missing: 0, erased: 0, erased_changes: [] };

/** Returns the lines of a report between the first and the verdict. */
const innerLines = (parts: Partial<Report>): string[] =>
  reportText("f", { ...REPORT, ...parts })
    .split("\n")
    .slice(1, -1);

test("a report has a line for each kind of signed decision that occurs", () => {
  const proofs = { verified: 1, as_named: 2, not_checked: 3, unsigned: 4 };
  expect(innerLines({ proofs })).toEqual([
    "valid signed decisions, with keys that the policy lists: 1",
    "valid signed decisions, with keys that only the log lists: 2",
    "signed decisions not checked, since no policy lists their keys: 3",
    "decisions without a signature, by names whose keys the policy lists: 4",
  ]);
  expect(innerLines({})).toEqual([]);
});

test("a report has a line for each kind of content that occurs, and names erased changes", () => {
  const counts = ["contents of changes that match their entries: 0", "intents that match their entries: 0"];
  expect(innerLines({ contents: NO_CONTENTS })).toEqual(counts);
  expect(
    innerLines({ contents: { ...NO_CONTENTS, unfit: 1, missing: 2, erased: 1, erased_changes: ["chg_1"] } }),
  ).toEqual([...counts, "contents that do not match: 1", "contents that are missing: 2", "erased: chg_1"]);
  expect(innerLines({ contents: { ...NO_CONTENTS, erased: 5, erased_changes: ["chg_1"] } })).toEqual([
    ...counts,
    "erased: chg_1",
    "and 4 more erased",
  ]);
});

test.each([
  [null, null, ""],
  [3, null, "line 3: "],
  [3, 4, "line 3, entry 4: "],
])("a finding in line %s, entry %s begins with where it is", (line, entry, location) => {
  const findings: Report["findings"] = [{ line, entry, rule: "form", message: "wrong" }];
  const report: Report = { ...REPORT, verdict: "bad", findings, findings_total: 1 };
  expect(reportText("f", report).split("\n").slice(1)).toEqual([`${location}form: wrong`, "bad: 1 finding"]);
  expect(
    reportText("f", { ...report, findings_total: 3 })
      .split("\n")
      .slice(2),
  ).toEqual(["and 2 more", "bad: 3 findings"]);
});

test("a report lists the evidence, the cosignatures and the remarks in this order", () => {
  const witnessed = [{ name: "w.example", length: 2, time: 5 }];
  expect(innerLines({ held_against: ["the receipt of entry 2"], witnessed, remarks: ["a remark"] })).toEqual([
    "verified against the receipt of entry 2",
    "cosigned by w.example up to entry 2, at 5 seconds since 1970",
    "a remark",
  ]);
});
