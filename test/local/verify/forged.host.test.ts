/** Verifies that both verifiers reject evidence forged by an attacker who can write the log and has its key, with equal exit codes. */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { main } from "../../../local/verify/main.ts";
import { pythonMissing, runPythonOften } from "../../tamper/verifiers.ts";
import { makeCheckpoint, rehashed } from "../../tamper/world.ts";
import { writeCertificate, writeExport, type FuzzWorld, fuzzWorld } from "./fuzz_world.ts";
import type { Input } from "./inputs.ts";
import { bentDer } from "./mutations.ts";
import { type Judged, pythonVerifier } from "./python.ts";

type Detail = Record<string, unknown>;
type Edit = (detail: Detail) => Detail | string;

const folder = mkdtempSync(join(tmpdir(), "forged-"));
afterAll(() => rmSync(folder, { recursive: true }));

let world: FuzzWorld;
let python: ReturnType<typeof pythonVerifier>;
beforeAll(async () => {
  world = await fuzzWorld();
  python = pythonVerifier();
});
afterAll(() => python.end());

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const read = ({ detail }: AuditEntry): Detail => JSON.parse(detail) as Detail;

/** The entries of the change on a target. */
function entriesOf(target: string): AuditEntry[] {
  const { change_id } = world.entries.find(
    (entry) => entry.event_type === "change_proposed" && read(entry)["target"] === target,
  )!;
  return world.entries.filter((entry) => entry.change_id === change_id);
}

/** Returns the log with some details replaced, by entry id, and all hashes computed again. */
function edited(edits: Record<number, Edit>, entries: readonly AuditEntry[] = world.entries): AuditEntry[] {
  const changed = entries.map((entry) => {
    const detail = edits[entry.id]?.(read(entry)) ?? entry.detail;
    return { ...entry, detail: typeof detail === "string" ? detail : JSON.stringify(detail) };
  });
  return rehashed(changed, 0);
}

/** Returns an edit that links a detail to another content or intent, and signs it again if it was signed. */
const linked =
  (over: Detail): Edit =>
  (detail) => {
    const facts = { ...detail, ...over };
    if (detail["proof"] === undefined) return facts;
    const before = JSON.parse(String(detail["statement"])) as Detail;
    for (const name of Object.keys(over)) if (name in before) before[name] = over[name];
    const statement = JSON.stringify(before, Object.keys(before).sort());
    const pen = world.pens[String(detail["approver"] ?? detail["actor"])]!;
    return { ...facts, statement, proof: pen.sign(statement) };
  };

interface Forgery {
  target?: string;
  /** Indices of the change's entries that the certificate has; all by default. */
  steps?: readonly number[];
  content?: (content: Detail) => Detail;
  intent?: (intent: Detail) => unknown;
  /** Edits by index among the change's entries. */
  edits?: Record<number, Edit>;
}

/** Returns a certificate whose entries are changed to match its contents and intents. */
function certificate({ target = "ui.done", steps, content, intent, edits = {} }: Forgery): Input {
  const life = entriesOf(target);
  const stored = world.contents.get(life[0]!.change_id)!;
  const forgedContent = content ? JSON.stringify(content(JSON.parse(stored.content) as Detail)) : stored.content;
  const [manifest] = world.manifests.values();
  const forgedIntent = intent ? JSON.stringify(intent(JSON.parse(manifest!) as Detail)) : manifest!;
  // After an erasure the digest is still that of the complete content, which nobody has any more.
  const digest: Detail = stored.erased ? {} : { digest: sha256(forgedContent) };
  const links = linked({ manifest_hash: sha256(forgedIntent), ...digest });
  const isLinkedAgain = content !== undefined || intent !== undefined;
  const linkedLog = isLinkedAgain ? edited(Object.fromEntries(life.map(({ id }) => [id, links]))) : [...world.entries];
  const editsById = Object.entries(edits).map(([index, edit]) => [life[Number(index)]!.id, edit] as const);
  const log = edited(Object.fromEntries(editsById), linkedLog);
  const ids = (steps ?? life.map((_, index) => index)).map((index) => life[index]!.id);
  const parts = { name: stored.erased ? "erased" : "content", content: forgedContent, intents: [forgedIntent], ids };
  const files = { certificate: writeCertificate(world, log, parts), tlog: world.policy };
  return { files, args: ["certificate", "certificate", "--policy", "tlog"] };
}

/** Returns a certificate of the minor change with some facts of its proposal and some rules of minor changes replaced. */
function proposedMinor(facts: Detail, rules: Detail = {}): Input {
  const minorOf = (intent: Detail) => (intent["policy"] as Detail)["minor"] as Detail;
  return certificate({
    target: "ui.minor",
    content: (content) => ({ ...content, ...("proposer" in facts ? { proposer: facts["proposer"] } : {}) }),
    intent: (intent) => withPolicy(intent, { minor: { ...minorOf(intent), ...rules } }),
    edits: { 0: (detail) => ({ ...detail, authenticated: "proxy", ...facts }) },
  });
}

/** Returns the arguments to verify an export with contents by a signed checkpoint. */
function exportInput(entries: readonly AuditEntry[], more: Record<string, string> = {}, args: string[] = []): Input {
  const note = makeCheckpoint(entries, entries.length, world.key);
  const files = { audit: writeExport(entries, []), note, pem: world.key.pem, ...more };
  return { files, args: ["audit", "--checkpoint", "note", "--key", "pem", ...args] };
}

const withStatus =
  (value: string): Edit =>
  (detail) => ({ ...detail, status: value });
const withoutMembers =
  (...names: string[]): Edit =>
  (detail) =>
    Object.fromEntries(Object.entries(detail).filter(([name]) => !names.includes(name)));
const removeSignature = withoutMembers("proof", "statement", "key");
const findApprovalId = (name: string): number =>
  world.entries.find((entry) => read(entry)["decision"] === "approved" && read(entry)["approver"] === name)!.id;
const findLateNoteId = (): number => world.entries.find((entry) => entry.event_type === "note_added")!.id;
const withPolicy = (intent: Detail, over: Detail): Detail => ({
  ...intent,
  policy: { ...(intent["policy"] as Detail), ...over },
});
/** Returns a certificate under an intent that requires the groups release and eu; its consents record `idp`, if any. */
function certificateWithGroups(idp?: unknown): Input {
  const recordGroups: Edit = (detail) => (idp === undefined ? detail : { ...detail, idp });
  const requireGroups = (one: Detail) => (one["kind"] === "person" ? { ...one, idp: ["release", "eu"] } : one);
  return certificate({
    intent: (intent) => {
      const principals = Object.entries(intent["principals"] as Record<string, Detail>);
      return { ...intent, principals: Object.fromEntries(principals.map(([name, one]) => [name, requireGroups(one)])) };
    },
    edits: { 1: recordGroups, 2: recordGroups },
  });
}
/** The people's keys, as a file outside of the log. */
const people = (): Record<string, string> => ({ people: [...world.manifests.values()][0]! });
/** Returns the log with another proof of Eve, whose passkey (`world.raw`) signs any bytes. */
const withProofOfEve = (bend: (proof: Detail, statement: string) => object): AuditEntry[] =>
  edited({
    [findApprovalId("eve")]: (detail) => ({
      ...detail,
      proof: bend(detail["proof"] as Detail, String(detail["statement"])),
    }),
  });
const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
const withNoteLine = (line: string): Input => {
  const input = exportInput(world.entries);
  return { ...input, files: { ...input.files, note: `${String(input.files["note"])}${line}` } };
};
const repeatFirstEntry = (change: Edit): AuditEntry[] => {
  const again = { ...world.entries[0]!, detail: JSON.stringify(change(read(world.entries[0]!))) };
  return rehashed([...world.entries.slice(0, 1), again, ...world.entries.slice(1)], 0);
};

/**
 * Inputs with their exit code: 0 valid, 1 a finding, 3 unusable. The entries about `ui.done` are 0 the proposal, 1 and 2 the
 * consents of ana and eve, 3 the apply, 4 the rollback; those about `ui.gone` are 0 the proposal, 1 the denial, 2 the erasure.
 */
const CASES: [what: string, exit: number, make: () => Input][] = [
  ["a certificate as it is", 0, () => certificate({})],
  ["a minor change as it is", 0, () => certificate({ target: "ui.minor" })],
  ["an emergency as it is", 0, () => certificate({ target: "ui.urgent" })],
  ["an erased change as it is", 0, () => certificate({ target: "ui.gone" })],
  [
    "one consent that does not say its status",
    1,
    () =>
      certificate({
        steps: [0, 1, 3],
        edits: { 0: (detail) => ({ ...detail, required_approvers: 1 }), 1: withoutMembers("status") },
      }),
  ],
  [
    "one consent that says approved",
    1,
    () =>
      certificate({
        steps: [0, 1, 3],
        edits: { 0: (detail) => ({ ...detail, required_approvers: 1 }), 1: withStatus("approved") },
      }),
  ],
  [
    "one consent, and a proposal that states no number of approvers",
    1,
    () =>
      certificate({ steps: [0, 1, 3], edits: { 0: withoutMembers("required_approvers"), 1: withStatus("approved") } }),
  ],
  [
    "one person who consents twice",
    1,
    () => certificate({ edits: { 2: () => ({ ...read(entriesOf("ui.done")[1]!), status: "approved" }) } }),
  ],
  [
    "a number of approvers that is text",
    1,
    () => certificate({ edits: { 0: (detail) => ({ ...detail, required_approvers: "x" }) } }),
  ],
  [
    "an unknown tier",
    1,
    () =>
      certificate({
        steps: [0, 1, 3],
        content: (own) => ({ ...own, tier: "urgent" }),
        edits: { 0: withoutMembers("tier"), 1: withStatus("approved") },
      }),
  ],
  [
    "a major change with fewer consents than a standard one needs",
    1,
    () =>
      certificate({
        steps: [0, 1, 3],
        content: (own) => ({ ...own, tier: "major" }),
        edits: { 0: withoutMembers("tier", "required_approvers"), 1: withStatus("approved") },
      }),
  ],
  [
    "an intent that requires fewer approvers of a major change than of a standard one",
    1,
    () => certificate({ intent: (own) => withPolicy(own, { required_approvers: { standard: 2, major: 1 } }) }),
  ],
  [
    "a consent of somebody who may not approve",
    1,
    () => certificate({ intent: (own) => withPolicy(own, { approvers: ["ana", "bo"] }) }),
  ],
  ["consents without the groups that the intent requires", 1, () => certificateWithGroups()],
  ["consents with some of the groups", 1, () => certificateWithGroups(["release"])],
  ["consents with groups that are no list", 1, () => certificateWithGroups("release eu")],
  ["consents with all groups that the intent requires", 0, () => certificateWithGroups(["eu", "staff", "release"])],
  [
    "a consent of the proposer",
    1,
    () =>
      certificate({
        intent: (own) => withPolicy(own, { self_approval: false }),
        content: (own) => ({ ...own, proposer: "ana" }),
        edits: { 0: (detail) => ({ ...detail, proposer: "ana" }) },
      }),
  ],
  [
    "a minor change under an intent that has none",
    1,
    () => certificate({ target: "ui.minor", intent: (own) => withPolicy(own, { minor: undefined }) }),
  ],
  [
    "a minor change of a target that is not covered",
    1,
    () =>
      certificate({
        target: "ui.minor",
        intent: (own) => withPolicy(own, { minor: { kinds: ["config"], targets: ["x.*"] } }),
      }),
  ],
  [
    "a minor change that reaches too many",
    1,
    () => certificate({ target: "ui.minor", content: (own) => ({ ...own, affected_users: 101 }) }),
  ],
  [
    "a minor change of too high a risk",
    1,
    () =>
      certificate({
        target: "ui.minor",
        content: (own) => ({ ...own, risk: "high" }),
        edits: { 0: withoutMembers("risk") },
      }),
  ],
  [
    "a minor change that is not reversible",
    1,
    () => certificate({ target: "ui.minor", content: (own) => ({ ...own, reversible: false }) }),
  ],
  ["an intent that is a list", 1, () => certificate({ intent: () => [] })],
  [
    "an intent whose principals are text",
    1,
    () =>
      certificate({
        intent: (own) => ({ ...own, principals: "x" }),
        edits: { 1: removeSignature, 2: removeSignature },
      }),
  ],
  ["an erasure that nobody signed", 1, () => certificate({ target: "ui.gone", edits: { 2: removeSignature } })],
  [
    "another target in what an erasure left",
    1,
    () => {
      const left = {
        ...(JSON.parse(world.contents.get(entriesOf("ui.gone")[0]!.change_id)!.content) as Detail),
        target: "harmless",
      };
      return certificate({
        target: "ui.gone",
        content: () => left,
        edits: { 2: (detail) => ({ ...detail, remaining_digest: sha256(JSON.stringify(left)) }) },
      });
    },
  ],
  [
    "a minor change with the admin token, which vouches for no name, under an intent with principals",
    1,
    () => certificate({ target: "ui.minor", edits: { 0: (detail) => ({ ...detail, authenticated: "token" }) } }),
  ],
  [
    "a minor change said to be signed, without a signature",
    1,
    () => certificate({ target: "ui.minor", edits: { 0: (detail) => ({ ...detail, authenticated: "signature" }) } }),
  ],
  [
    "a minor change of a person, said to be authenticated by an agent's secret",
    1,
    () =>
      certificate({
        target: "ui.minor",
        content: (own) => ({ ...own, proposer: "eve" }),
        edits: { 0: (detail) => ({ ...detail, proposer: "eve", proposer_kind: "person" }) },
      }),
  ],
  [
    "a minor change whose proposer the proxy names",
    0,
    () => proposedMinor({ proposer: "pat", proposer_kind: "person" }),
  ],
  [
    "a minor change of an agent that the intent does not name, by a proxy",
    0,
    () => proposedMinor({ proposer: "agent:x", proposer_kind: "agent" }),
  ],
  [
    "a minor change without a proposer, authenticated by a proxy",
    1,
    () => proposedMinor({ proposer: null, proposer_kind: "person" }),
  ],
  ...["person", "unknown", "agent", undefined].flatMap((proposer_kind): (typeof CASES)[number][] => [
    [
      `an agent's minor change, of the kind ${proposer_kind}, under an intent that allows it to people only`,
      1,
      () => proposedMinor({ proposer_kind, authenticated: "agent" }, { agents: false }),
    ],
    [
      `a minor change of a name with agent:, of the kind ${proposer_kind}, where only people's may be minor`,
      1,
      () => proposedMinor({ proposer: "Agent:x", proposer_kind }, { agents: undefined }),
    ],
    [
      `a minor change of a model, of the kind ${proposer_kind}`,
      1,
      () => proposedMinor({ proposer: "LLM:m1", proposer_kind }),
    ],
  ]),
  [
    "a minor change of a model that only the content names",
    1,
    () =>
      certificate({
        target: "ui.minor",
        content: (own) => ({ ...own, proposer: "llm:m1" }),
        edits: { 0: withoutMembers("proposer") },
      }),
  ],
  [
    "a minor change whose proposer is claimed under an intent without principals",
    0,
    () =>
      certificate({
        target: "ui.minor",
        intent: ({ principals: _, ...rest }) => rest,
        edits: { 0: (detail) => ({ ...detail, authenticated: "claimed", proposer_kind: "unknown" }) },
      }),
  ],
  [
    "a late note that nobody signed, of a name with keys",
    1,
    () => exportInput(edited({ [findLateNoteId()]: removeSignature })),
  ],
  [
    "a late note of another item than the one signed",
    1,
    () => exportInput(edited({ [findLateNoteId()]: (detail) => ({ ...detail, item: "rationale" }) })),
  ],
  ["a late note without an item", 1, () => exportInput(edited({ [findLateNoteId()]: withoutMembers("item") }))],
  ["a log as it is", 0, () => exportInput(world.entries)],
  ["a log as it is, with people's keys", 0, () => exportInput(world.entries, people(), ["--policy", "people"])],
  [
    "an unsigned consent whose decision is a list",
    1,
    () =>
      exportInput(
        edited({
          [findApprovalId("ana")]: (detail) => ({ ...(removeSignature(detail) as Detail), decision: ["approved"] }),
        }),
      ),
  ],
  [
    "an unsigned consent whose decision is a name that objects inherit",
    1,
    () =>
      exportInput(
        edited({
          [findApprovalId("ana")]: (detail) => ({ ...(removeSignature(detail) as Detail), decision: "constructor" }),
        }),
      ),
  ],
  [
    "an unsigned consent that is nested 20,000 deep",
    1,
    () =>
      exportInput(
        edited({
          [findApprovalId("ana")]: (detail) =>
            JSON.stringify({ ...(removeSignature(detail) as Detail), x: 0 }).replace('"x":0', `"x":${nested(20_000)}`),
        }),
      ),
  ],
  [
    "a signed consent whose detail is no JSON",
    1,
    () => exportInput(edited({ [findApprovalId("ana")]: (detail) => `${JSON.stringify(detail)}x` })),
  ],
  [
    "a signature in DER that is written otherwise",
    1,
    () =>
      exportInput(
        withProofOfEve((proof) => ({
          ...proof,
          // `n - 1` pads both numbers and writes the length in its long form.
          signature: bentDer(Buffer.from(String(proof["signature"]), "base64url"), (n) => n - 1).toString("base64url"),
        })),
        people(),
        ["--policy", "people"],
      ),
  ],
  [
    "client data that is not UTF-8",
    1,
    () =>
      exportInput(
        withProofOfEve((_, statement) =>
          world.raw.signBytes(
            Buffer.concat([
              Buffer.from(
                `{"type":"webauthn.get","challenge":"${createHash("sha256").update(statement).digest("base64url")}","origin":"https://gov.acme.example","x":"`,
              ),
              Buffer.of(0xff),
              Buffer.from('"}'),
            ]),
          ),
        ),
        people(),
        ["--policy", "people"],
      ),
  ],
  ...(
    [
      ["that state the challenge twice", 1, '"challenge":"AAAA",'],
      ["that state a member twice with an escape", 1, '"\\u0074ype":"webauthn.create",'],
      ["that state a member twice, below", 1, '"x":[{"a":":","a":1}],'],
      ["nested 150 deep", 1, `"x":${nested(150)},`],
      ["with half a character", 1, '"x":"\\ud800",'],
      ["with a number of 5,000 digits", 0, `"x":${"1".repeat(5000)},`],
      ["with names and colons in texts", 0, '"x":["\\"a\\":1","a",{"a":1},{"a": 1}],'],
    ] as const
  ).map(([what, exit, more]): (typeof CASES)[number] => [
    `client data ${what}`,
    exit,
    () =>
      exportInput(
        withProofOfEve((proof) => {
          const client = Buffer.from(String(proof["client_data_json"]), "base64url").toString();
          return world.raw.signBytes(Buffer.from(client.replace("{", () => `{${more}`)));
        }),
        people(),
        ["--policy", "people"],
      ),
  ]),
  [
    "an intent that is recorded twice, the second time without principals",
    1,
    () => exportInput(repeatFirstEntry((detail) => ({ ...detail, principals: {} }))),
  ],
  ["an intent that is recorded twice alike", 0, () => exportInput(repeatFirstEntry((detail) => detail))],
  [
    "an intent whose entry does not name the keys of its manifest",
    1,
    () => {
      // Without signatures no later entry is judged by these keys.
      const all = Object.fromEntries(world.entries.map(({ id }) => [id, removeSignature]));
      const entries = edited({ ...all, 1: (detail) => ({ ...detail, principals: {} }) });
      return exportInput(entries, { audit: writeExport(entries, world.carried) }, ["--changes"]);
    },
  ],
  [
    "a log with its contents",
    0,
    () => exportInput(world.entries, { audit: writeExport(world.entries, world.carried) }, ["--changes"]),
  ],
  ["a signature line of a name with a zero width no-break space", 3, () => withNoteLine("— a\ufeffb AAAAAAAA\n")],
  ["a signature line of a name with a next line", 3, () => withNoteLine("— a\u0085b AAAAAAAA\n")],
  ["a signature line of a name with a file separator", 3, () => withNoteLine("— a\u001cb AAAAAAAA\n")],
  ["a signature line of an unknown key", 0, () => withNoteLine("— unknown AAAAAAAA\n")],
  [
    "a tlog-policy with carriage returns",
    3,
    () => {
      const one = certificate({});
      return { ...one, files: { ...one.files, tlog: world.policy.replaceAll("\n", "\r\n") } };
    },
  ],
  [
    "a tlog-policy with a byte order mark",
    3,
    () => {
      const one = certificate({});
      return { ...one, files: { ...one.files, tlog: `\ufeff${world.policy.replace(/^#.*\n/, "")}` } };
    },
  ],
  [
    "people's keys with a byte order mark",
    0,
    () => exportInput(world.entries, { people: `\ufeff${people()["people"]}` }, ["--policy", "people"]),
  ],
  [
    "people's keys that are of no type",
    3,
    () =>
      exportInput(world.entries, { people: '{"principals":{"ana":{"keys":[{"type":"x"}]}}}' }, ["--policy", "people"]),
  ],
];

let inputCount = 0;
/** Writes the files of an input; returns its arguments with their paths. */
function writeInput({ files, args }: Input): string[] {
  inputCount++;
  const own = join(folder, String(inputCount));
  mkdirSync(own);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(own, name), content);
  // The first word of a certificate's arguments is the command.
  return args.map((arg, at) => (Object.hasOwn(files, arg) && (at > 0 || arg !== "certificate") ? join(own, arg) : arg));
}

async function runTypescript(args: string[]): Promise<Judged> {
  let [stdout, stderr] = ["", ""];
  const status = await main([...args, "--json"], { out: (text) => (stdout += text), err: (text) => (stderr += text) });
  const findings = status > 2 ? [] : (JSON.parse(stdout) as { findings: { rule: string }[] }).findings;
  return { status, rules: findings.map(({ rule }) => rule), stderr };
}

test.each(CASES)("%s: exit %i of both verifiers", async (_, exit, make) => {
  const args = writeInput(make());
  const own = await runTypescript(args);
  expect(own, JSON.stringify(own)).toMatchObject({ status: exit });
  if (pythonMissing !== null) return;
  const [other] = await python.judge([[...args, "--json"]]);
  expect({ status: other!.status, rules: other!.rules }).toEqual({ status: own.status, rules: own.rules });
});

test("a name that hides a finding from a terminal is escaped", async () => {
  const name = "x\u001b[2K\u001b[8m\u202e\u0085";
  const entries = edited({
    1: (detail) => ({
      ...detail,
      principals: { ...(detail["principals"] as Detail), [name]: { kind: "person", keys: ["SHA256:x"] } },
    }),
    [findApprovalId("ana")]: (detail) => ({ ...(removeSignature(detail) as Detail), approver: name }),
  });
  const args = writeInput(exportInput(entries));
  let said = "";
  await main(args, { out: (text) => (said += text), err: () => undefined });
  expect(said).toContain("lists keys of x%1B[2K%1B[8m%E2%80%AE%C2%85, but");
  expect(said.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202e]/u);
  const [other] = pythonMissing === null ? runPythonOften([args]) : [];
  // The first line contains the file name and is compared elsewhere.
  if (other) expect(other.stdout.replace(/^.*\n/, "")).toBe(said.replace(/^.*\n/, ""));
});
