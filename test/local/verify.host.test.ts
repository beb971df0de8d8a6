/** Verifies that `countersign-verify`, run in this process, and `verify_audit.py` give the same results for the same arguments. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseCheckpoint, parseKey, findSigner } from "../../local/verify/note.ts";
import type { Report } from "../../local/verify/verify.ts";
import { keyPair } from "../support/independent_witness.ts";
import { flipped } from "../tamper/damage.ts";
import { pythonMissing, runPython, runPythonOften } from "../tamper/verifiers.ts";
import { runVerifier, verifierWorld } from "./verify/in_process.ts";
import { pythonVerifier } from "./verify/python.ts";
import { makeCheckpoint, newKey, rehashed, type World, write } from "../tamper/world.ts";

const SOURCES = join(import.meta.dirname, "../../local/verify");
const folder = mkdtempSync(join(tmpdir(), "countersign-verify-"));
afterAll(() => rmSync(folder, { recursive: true }));

const path = (name: string): string => join(folder, name);
const writeTemporary = (name: string, content: string | Buffer): string => {
  writeFileSync(path(name), content);
  return path(name);
};

/** A log of 200 entries, its key, another key, and a signed checkpoint of all entries. */
let world: World;
let log: string;
let verifierKey: string;
beforeAll(async () => {
  world = await verifierWorld();
  log = writeTemporary("audit.jsonl", write(world.entries));
  verifierKey = makeVerifierKey(world.note);
  writeEvidence();
});

const pythonProcess = pythonVerifier();
afterAll(() => pythonProcess.end());
const judgeInPython = async (args: readonly string[]) => (await pythonProcess.judge([[...args, "--json"]]))[0];

const verifyToReport = async (args: readonly string[]): Promise<Report> =>
  JSON.parse((await runVerifier([...args, "--json"])).stdout) as Report;

const [W1, W2, UNKNOWN] = [
  keyPair("w.example/one", 4),
  keyPair("w.example/two", 4),
  keyPair("elsewhere.example", 4),
] as const;

/** Writes the files that the cases use. */
function writeEvidence(): void {
  const { entries, key, otherKey, note } = world;
  writeTemporary("public.pem", key.pem);
  writeTemporary("other.pem", otherKey.pem);
  writeTemporary("key.txt", `${verifierKey}\n`);
  writeTemporary("note", note);
  writeTemporary("unsigned", makeCheckpoint(entries, 200));
  writeTemporary("unended", makeCheckpoint(entries, 200).slice(0, -1));
  writeTemporary("early", makeCheckpoint(entries, 100, key));
  writeTemporary("forged", makeCheckpoint(entries, 200, otherKey));
  writeTemporary("later", makeCheckpoint([...entries, entries[0]!], 201, key));
  const lines = [1, 64, 128, 200].map((length) =>
    JSON.stringify({ at: "", checkpoint: makeCheckpoint(entries, length, key) }),
  );
  writeTemporary("anchor.jsonl", `${lines.join("\n")}\n{"at":"2026-01\n`);
  const wrong = JSON.stringify({
    at: "",
    checkpoint: makeCheckpoint(rehashed([...entries.slice(0, 60), ...entries.slice(61)], 60), 64, key),
  });
  const signedByOther = JSON.stringify({ at: "", checkpoint: makeCheckpoint(entries, 200, otherKey) });
  writeTemporary("two-keys.jsonl", `${lines[0]}\n${signedByOther}\n`);
  writeTemporary("of-nothing", makeCheckpoint(entries, 0, key));
  writeTemporary("wrong-anchor.jsonl", `${lines[0]}\n${wrong}\n${lines[3]}\n`);
  writeTemporary("cut.jsonl", write(entries.slice(0, -5)));
  writeTemporary("edited.jsonl", write(entries.with(49, { ...entries[49]!, tenant: "x" })));
  writeTemporary("rewritten.jsonl", write(rehashed(entries.with(149, { ...entries[149]!, tenant: "x" }), 149)));
  writeTemporary("empty.jsonl", "");
  const cosigned = (length: number, ...witnesses: (typeof W1)[]) => {
    const signed = makeCheckpoint(entries, length, key);
    const text = signed.slice(0, signed.indexOf("\n\n") + 1);
    return signed + witnesses.map((witness, i) => witness.cosigned(text, 1_800_000_000 + length + i)).join("");
  };
  writeTemporary("cosigned", cosigned(200, W1, W2, UNKNOWN));
  writeTemporary("cosigned-early", cosigned(100, W1));
  writeTemporary("cosigned-late", cosigned(200, W2));
  writeTemporary("cosigned-wrong", makeCheckpoint(entries, 200, key) + W1.cosigned("another text", 1_800_000_000));
  writeTemporary("cosigned-as-log", cosigned(200) + W1.signed("another text"));
  writeTemporary("w1.txt", `${W1.vkey}\n`);
  writeTemporary("text.txt", "hello\n");
  mkdirSync(path("folder"));
}

/** Returns the verifier key of the world's key, in the form in which the service returns it. */
function makeVerifierKey(note: string): string {
  const [, name, encoded] = /— (\S+) (\S+)\n$/.exec(note)!;
  const id = Buffer.from(encoded!, "base64").toString("hex", 0, 4);
  return `${name}+${id}+${Buffer.concat([Buffer.of(1), world.key.raw]).toString("base64")}`;
}

/** Exit codes: 0 valid, 1 a finding, 2 consistent, but compared with nothing outside of the log, 3 unusable input. */
const CASES: [name: string, exit: number, args: string][] = [
  ["an export and nothing else", 2, "audit.jsonl"],
  ["a checkpoint", 0, "audit.jsonl --checkpoint note"],
  ["a checkpoint and its key", 0, "audit.jsonl --checkpoint note --key public.pem"],
  ["a verifier key in a file", 0, "audit.jsonl --checkpoint note --key key.txt"],
  ["a verifier key itself", 0, "audit.jsonl --checkpoint note --key VKEY"],
  ["an unsigned checkpoint", 0, "audit.jsonl --checkpoint unsigned"],
  ["an unsigned checkpoint without its empty line", 0, "audit.jsonl --checkpoint unended"],
  ["an earlier checkpoint", 0, "audit.jsonl --checkpoint early --key public.pem"],
  ["two checkpoints", 0, "audit.jsonl --checkpoint early --checkpoint note --key public.pem"],
  ["an anchor's file", 0, "audit.jsonl --checkpoint anchor.jsonl --key public.pem"],
  ["checkpoints of two keys, and both", 0, "audit.jsonl --checkpoint two-keys.jsonl --key public.pem --key other.pem"],
  ["checkpoints of two keys, and one", 1, "audit.jsonl --checkpoint two-keys.jsonl --key other.pem"],
  ["a checkpoint of no entries", 2, "audit.jsonl --checkpoint of-nothing --key public.pem"],
  ["a receipt of no entry", 2, "audit.jsonl --expected-length 0 --expected-head HEAD0"],
  ["a receipt", 0, "audit.jsonl --expected-length 77 --expected-head HEAD77"],
  ["a receipt and a checkpoint", 0, "audit.jsonl --expected-length 77 --expected-head HEAD77 --checkpoint note"],
  ["an empty export", 3, "empty.jsonl"],
  ["an edited entry", 1, "edited.jsonl"],
  ["an edited entry and a checkpoint", 1, "edited.jsonl --checkpoint note"],
  ["a rewritten log alone", 2, "rewritten.jsonl"],
  ["a rewritten log and a checkpoint", 1, "rewritten.jsonl --checkpoint note --key public.pem"],
  ["a rewritten log and a checkpoint from before", 0, "rewritten.jsonl --checkpoint early --key public.pem"],
  ["a cut log alone", 2, "cut.jsonl"],
  ["a cut log and a checkpoint", 1, "cut.jsonl --checkpoint note"],
  ["a cut log and a receipt", 1, "cut.jsonl --expected-length 200 --expected-head HEAD200"],
  ["an empty export and a receipt", 3, "empty.jsonl --expected-length 200 --expected-head HEAD200"],
  ["another receipt", 1, "audit.jsonl --expected-length 76 --expected-head HEAD77"],
  ["a checkpoint under another key", 1, "audit.jsonl --checkpoint forged --key public.pem"],
  ["the key of another log", 1, "audit.jsonl --checkpoint note --key other.pem"],
  ["an unsigned checkpoint and a key", 1, "audit.jsonl --checkpoint unsigned --key public.pem"],
  ["a checkpoint beyond the log", 1, "audit.jsonl --checkpoint later --key public.pem"],
  ["an anchor with one wrong line", 1, "audit.jsonl --checkpoint wrong-anchor.jsonl --key public.pem"],
  ["witnesses that both cosigned", 0, "audit.jsonl --checkpoint cosigned --witness W1 --witness W2 --key public.pem"],
  ["a witness's key in a file", 0, "audit.jsonl --checkpoint cosigned --witness w1.txt"],
  ["one of two witnesses", 0, "audit.jsonl --checkpoint cosigned-early --witness W1 --witness W2 --quorum 1"],
  ["one of two required witnesses", 1, "audit.jsonl --checkpoint cosigned-early --witness W1 --witness W2"],
  [
    "two witnesses, each of which cosigned another checkpoint",
    1,
    "audit.jsonl --checkpoint cosigned-early --checkpoint cosigned-late --witness W1 --witness W2",
  ],
  [
    "the same with a quorum of one",
    0,
    "audit.jsonl --checkpoint cosigned-late --checkpoint cosigned-early --witness W1 --witness W2 --quorum 1",
  ],
  ["a witness that cosigned nothing", 1, "audit.jsonl --checkpoint note --witness W1"],
  ["a cosignature of another text", 1, "audit.jsonl --checkpoint cosigned-wrong --witness W1"],
  ["a log's signature in the place of a cosignature", 1, "audit.jsonl --checkpoint cosigned-as-log --witness W1"],
  ["a rewritten log that a witness cosigned before", 1, "rewritten.jsonl --checkpoint cosigned --witness W1"],
  ["a checkpoint under another key, and a witness", 1, "audit.jsonl --checkpoint forged --key public.pem --witness W1"],
  ["a log's key for a witness", 3, "audit.jsonl --checkpoint cosigned --witness VKEY"],
  ["a witness twice", 3, "audit.jsonl --checkpoint cosigned --witness W1 --witness w1.txt"],
  ["a witness and no checkpoint", 3, "audit.jsonl --witness W1"],
  ["a quorum and no witness", 3, "audit.jsonl --checkpoint cosigned --quorum 1"],
  ["a quorum above the number of witnesses", 3, "audit.jsonl --checkpoint cosigned --witness W1 --quorum 2"],
  ["a quorum of none", 3, "audit.jsonl --checkpoint cosigned --witness W1 --quorum 0"],
  ["no export", 3, ""],
  ["two exports", 3, "audit.jsonl cut.jsonl"],
  ["an export that does not exist", 3, "none.jsonl"],
  ["a folder", 3, "folder"],
  ["a checkpoint that does not exist", 3, "audit.jsonl --checkpoint none"],
  ["a file that is no checkpoint", 3, "audit.jsonl --checkpoint text.txt"],
  ["a file that is no key", 3, "audit.jsonl --checkpoint note --key text.txt"],
  ["a key file that does not exist", 3, "audit.jsonl --checkpoint note --key none.pem"],
  ["a key and no checkpoint", 3, "audit.jsonl --key public.pem"],
  ["a length without a head", 3, "audit.jsonl --expected-length 77"],
  ["a head without a length", 3, "audit.jsonl --expected-head HEAD77"],
  ["a length that is no number", 3, "audit.jsonl --expected-length x --expected-head HEAD77"],
  ["an unknown option", 3, "audit.jsonl --expect 77"],
];

/** Returns the arguments of a case, with paths and the world's values filled in. */
function toArguments(text: string): string[] {
  return text
    .split(" ")
    .filter(Boolean)
    .map((word) => {
      const head = /^HEAD(\d+)$/.exec(word);
      if (word === "HEAD0") return "0".repeat(64);
      if (head) return world.entries[Number(head[1]) - 1]!.current_hash;
      if (word === "VKEY") return verifierKey;
      if (word === "W1" || word === "W2") return (word === "W1" ? W1 : W2).vkey;
      return word.startsWith("--") || /^(?:\d+|x)$/.test(word) ? word : path(word);
    });
}

/** Expects an exit code, and a verdict as the last line or a single error line. */
function checkRun({ status, stdout, stderr }: ReturnType<typeof runPython>, exit: number, name: string): void {
  expect({ status, stderr: stderr === "" }).toEqual({ status: exit, stderr: exit !== 3 });
  if (exit === 3) {
    expect(stdout).toBe("");
    expect(stderr).toMatch(new RegExp(`^${name}: [^\n]+\n$`));
  } else expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^(?:valid|bad|consistent): /);
}

test.each(CASES)("countersign-verify with %s: exit %i", async (_, exit, text) => {
  checkRun(await runVerifier(toArguments(text)), exit, "countersign-verify");
});

test.skipIf(pythonMissing)(
  `verify_audit.py has the same exit code in every case (${pythonMissing ?? "python3 is here"})`,
  () => {
    const results = runPythonOften(CASES.map(([, , text]) => toArguments(text)));
    for (const [index, [what, exit]] of CASES.entries()) {
      expect(results[index]!.status, what).toBe(exit);
      checkRun(results[index]!, exit, "verify_audit.py");
    }
    checkRun(runPython([log]), 2, "verify_audit.py");
  },
);

test.skipIf(pythonMissing)("both verifiers name a certificate and a backup in place of an export", async () => {
  const files = {
    "it is the certificate of a change": "countersign-certificate/v1\ncontent 3\n{}\n",
    "it is a backup of a store": '{"format":"countersign-export/3"}\n{}\n',
  };
  for (const [message, text] of Object.entries(files)) {
    const file = writeTemporary(message.replaceAll(" ", "-"), text);
    const { status, stderr } = await runVerifier([file]);
    expect([status, stderr]).toEqual([3, expect.stringContaining(message)]);
    expect(runPython([file]).stderr.replace("verify_audit.py", "countersign-verify")).toBe(stderr);
  }
});

test("any flipped bit of a signed checkpoint makes its signature invalid", () => {
  const key = parseKey(verifierKey)!;
  const note = Buffer.from(world.note);
  expect(findSigner(parseCheckpoint(world.note)!, key)).toBe(key.name);
  for (let bit = 0; bit < note.length * 8; bit++) {
    const checkpoint = parseCheckpoint(flipped(note, bit).toString());
    expect(checkpoint && findSigner(checkpoint, key), `bit ${bit}`).toBeUndefined();
  }
});

test.skipIf(pythonMissing)("verify_audit.py finds flipped bits of a checkpoint, in a sample", () => {
  const note = Buffer.from(world.note);
  // Spread over the checkpoint, with each of the eight bits of a byte.
  const bits = Array.from({ length: 24 }, (_, i) => Math.floor((i * note.length * 8) / 24) + (i % 8));
  const calls = bits.map((bit) => [
    log,
    "--checkpoint",
    writeTemporary(`flip-${bit}`, flipped(note, bit)),
    "--key",
    verifierKey,
  ]);
  for (const [index, { status }] of runPythonOften(calls).entries())
    expect(status, `bit ${bits[index]}`).toBeOneOf([1, 3]);
});

test("one fault is reported once, with line, entry and rule", async () => {
  const { entries } = world;
  expect(await verifyToReport([path("edited.jsonl")])).toMatchObject({
    verdict: "bad",
    entries: 200,
    findings: [{ line: 50, entry: 50, rule: "current_hash" }],
    findings_total: 1,
  });
  const removed = writeTemporary("removed.jsonl", write(entries.toSpliced(70, 1)));
  expect((await verifyToReport([removed])).findings).toMatchObject([{ line: 71, entry: 72, rule: "id" }]);
  const lines = (await runVerifier([path("edited.jsonl")])).stdout.split("\n");
  expect(lines[0]).toMatch(/^.*edited\.jsonl: 200 entries of "acme-crm\/audit\/[0-9a-f]{32}", head [0-9a-f]{64}$/);
  expect(lines[1]).toMatch(/^line 50, entry 50: current_hash: /);
});

test("a report lists the evidence that it used, what it could not check and skipped lines", async () => {
  const report = await verifyToReport([log, "--checkpoint", path("anchor.jsonl"), "--key", path("public.pem")]);
  expect(report.held_against).toHaveLength(4);
  expect(report.held_against[1]).toMatch(
    /^the checkpoint of 64 entries in line 2 of .*anchor\.jsonl \(signed by acme-crm\/audit\//,
  );
  expect(report.remarks).toEqual([expect.stringMatching(/^line 5 of .* is not a checkpoint/)]);
  expect((await verifyToReport([log, "--checkpoint", path("note")])).held_against[0]).toContain(
    "signature not checked",
  );
  expect(await verifyToReport([log])).toMatchObject({
    not_checked: ["tail_truncation", "full_rewrite"],
    held_against: [],
  });
});

test("a report lists each witness once, with the greatest length that it cosigned", async () => {
  const args = toArguments(
    "audit.jsonl --checkpoint cosigned-early --checkpoint cosigned --checkpoint cosigned-late --witness W2 --witness W1",
  );
  expect(await verifyToReport(args)).toMatchObject({
    verdict: "valid",
    witnessed: [
      { name: "w.example/two", length: 200, time: 1_800_000_201 },
      { name: "w.example/one", length: 200, time: 1_800_000_200 },
    ],
  });
  expect((await runVerifier(args)).stdout).toContain(
    "\ncosigned by w.example/one up to entry 200, at 1800000200 seconds since 1970\n",
  );
  const wrong = await verifyToReport(toArguments("audit.jsonl --checkpoint cosigned-wrong --witness W1"));
  // The cosignature is invalid, so the quorum is not reached either.
  expect(wrong.findings.map(({ rule }) => rule)).toEqual(["cosignature", "cosignature"]);
});

test("a report lists the first hundred findings and counts all of them", async () => {
  const bad = writeTemporary("throughout.jsonl", write(world.entries.map((entry) => ({ ...entry, tenant: "x" }))));
  const report = await verifyToReport([bad]);
  expect([report.findings.length, report.findings_total]).toEqual([100, 200]);
  expect((await runVerifier([bad])).stdout).toContain("\nand 100 more\n");
});

test("an origin with a line break is escaped to one line in its checkpoint", async () => {
  const entries = rehashed(
    world.entries.map((entry) => ({ ...entry, origin: "two\nlines/audit/0f" })),
    0,
  );
  const note = makeCheckpoint(entries, 200).replace("two\nlines", "two%0Alines");
  const args = [writeTemporary("origin.jsonl", write(entries)), "--checkpoint", writeTemporary("origin-note", note)];
  expect((await runVerifier(args)).status).toBe(0);
  if (!pythonMissing) expect(await judgeInPython(args)).toMatchObject({ status: 0 });
});

test("control characters in names and details are read by both verifiers", async () => {
  const controls = String.fromCharCode(...Array.from({ length: 0xa0 }, (_, code) => code), 0x2028, 0xfeff);
  const entries = world.entries.map((entry) => ({
    ...entry,
    origin: `o${controls}/audit/0f`,
    detail: JSON.stringify({ decision: "denied", approver: controls }),
  }));
  const args = [writeTemporary("controls.jsonl", write(rehashed(entries, 0)))];
  expect(await runVerifier(args)).toMatchObject({ status: 2 });
  if (!pythonMissing) expect(await judgeInPython(args)).toMatchObject({ status: 2 });
});

test("the verifier imports only Node's modules, its own files and the rules of rollouts", () => {
  for (const name of readdirSync(SOURCES)) {
    const source = readFileSync(join(SOURCES, name), "utf8");
    for (const [, from] of source.matchAll(/from "([^"]+)"/g))
      expect(from, name).toMatch(
        /^(?:node:|\.\/[a-z_]+\.ts$|\.\.\/\.\.\/lib\/rollout\/[a-z_]+\.ts$|\.\.\/\.\.\/package\.json$)/,
      );
  }
});

test("a checkpoint signed by another key, or under another name, is rejected", async () => {
  const other = newKey();
  const forged = makeCheckpoint(world.entries, 200, { ...world.key, privateKey: other.privateKey });
  expect(
    (await runVerifier([log, "--checkpoint", writeTemporary("same-id", forged), "--key", path("public.pem")])).status,
  ).toBe(1);
  const renamed = makeVerifierKey(world.note).replace("acme-crm", "acme-crn");
  expect((await runVerifier([log, "--checkpoint", path("note"), "--key", renamed])).status).toBe(3);
});
