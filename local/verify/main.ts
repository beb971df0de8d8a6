#!/usr/bin/env node
/** `countersign-verify`: verifies an export of the audit log, or the certificate of a change, offline, without the service. */
import { mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { version } from "../../package.json";
import { verifyCertificate } from "./certificate.ts";
import { certificateText } from "./certificate_text.ts";
import { listFiles } from "./container.ts";
import { escapeForTerminal } from "./note.ts";
import { type Evidence, readCheckpoints, readKey, Unreadable } from "./evidence.ts";
import { readPolicy } from "./policy.ts";
import { readChunks } from "./read_chunks.ts";
import { reportText } from "./report.ts";
import { verifyExport } from "./verify.ts";
import { readTlogPolicy } from "./tlog_policy.ts";
import { readWitness, type WitnessReport, listCosignatures } from "./witness.ts";

const HELP = `Usage: countersign-verify FILE [--key KEY]… [--checkpoint NOTE]… [--expected-length N --expected-head HEX]
                          [--witness KEY]… [--quorum N] [--policy FILE] [--changes] [--json]
       countersign-verify certificate FILE [--policy POLICY] [--keys FILE] [--manifest-hash HEX]… [--intents DIR]
                          [--extract DIR] [--json]
       countersign-verify --version

The first form verifies an export of the audit log (GET /api/product/audit?format=jsonl) without the service:

  --checkpoint NOTE   a checkpoint stored outside the service, or the file of --audit-anchor; may be repeated
  --key KEY           each checkpoint must be signed by one of these keys: PEM file, verifier key, or its file;
                      may be repeated, for example after a change of keys
  --witness KEY       a witness that must have cosigned a checkpoint: verifier key, or its file; may be repeated
  --quorum N          the number of witnesses that must have cosigned the same checkpoint; all of them by default
  --expected-length N, --expected-head HEX
                      a receipt: the id and the current_hash of an entry, as the service returned them
  --policy FILE       the keys that must have signed the signed decisions: an intent, or any JSON with its principals
  --changes           the export contains its changes and intents (contents=1, or GET
                      /api/product/export): each must match the hash in its entry, none may be missing

The second form verifies the certificate of a change (GET /api/product/changes/<id>/certificate):

  --policy POLICY     the trusted logs, and the cosignatures that a checkpoint needs: a C2SP tlog-policy
  --keys FILE         the keys that count: an intent, or any JSON with its principals;
                      by default those of the intents in the certificate, whose hashes are signed too
  --manifest-hash HEX only decisions under this intent count; may be repeated
  --intents DIR       intents that the certificate names and does not contain, as files <hash>.json: the folder of a pack
  --extract DIR       write the content, the intents, and each proof as a .tlog-proof

  --json              print one JSON object instead of lines
  --version           print the version of this program
  --help              print this text

Exit codes: 0 valid, verified against data stored outside; 2 consistent, but there was no such data;
1 bad; 3 unreadable, not a file as the service sent it, or wrong options.`;

const EXIT = { valid: 0, bad: 1, consistent: 2 } as const;
const UNREADABLE = 3;

const OPTIONS = {
  key: { type: "string", multiple: true },
  checkpoint: { type: "string", multiple: true },
  witness: { type: "string", multiple: true },
  quorum: { type: "string" },
  "expected-length": { type: "string" },
  "expected-head": { type: "string" },
  policy: { type: "string" },
  changes: { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

const CERTIFICATE_OPTIONS = {
  policy: { type: "string" },
  keys: { type: "string" },
  intents: { type: "string" },
  "manifest-hash": { type: "string", multiple: true },
  extract: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

/** Streams that the program writes to. */
interface Streams {
  out: (text: string) => void;
  err: (text: string) => void;
}

const STREAMS: Streams = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
};

/** Runs the program and resolves to its exit code. */
export async function main(argv: string[], { out, err } = STREAMS): Promise<number> {
  try {
    if (argv.length === 1 && argv[0] === "--version") {
      out(`${version}\n`);
      return 0;
    }
    const { text, exit } = argv[0] === "certificate" ? runCertificate(argv.slice(1)) : await runExport(argv);
    out(`${text}\n`);
    return exit;
  } catch (error) {
    const { syscall, code, message } = error as NodeJS.ErrnoException;
    const subject = argv[0] === "certificate" ? "certificate" : "export";
    const explanation = message.replace(/^Unknown option '([^']*)'.*$/s, "unknown option $1; see --help");
    // A failed call of the system has a message with paths and numbers; its code is enough.
    const reason = syscall === undefined ? explanation : `the ${subject} cannot be read: ${code}`;
    err(`countersign-verify: ${escapeForTerminal(reason)}\n`);
    return UNREADABLE;
  }
}

/** Output of the program and its exit code. */
interface ProgramResult {
  text: string;
  exit: number;
}

async function runExport(argv: string[]): Promise<ProgramResult> {
  const { values, positionals } = parseArgs({ args: argv, options: OPTIONS, allowPositionals: true });
  if (values.help) return { text: HELP, exit: 0 };
  const file = requireOneFile(positionals);
  const evidence = readEvidence(values);
  const policy = values.policy === undefined ? undefined : readPolicy(values.policy);
  const witnessReport = readCosignatures(values, evidence);
  const report = await verifyExport(readChunks(file), evidence, {
    policy,
    witnessReport,
    contents: values.changes,
  });
  return { text: values.json ? JSON.stringify(report) : reportText(file, report), exit: EXIT[report.verdict] };
}

function runCertificate(argv: string[]): ProgramResult {
  const { values, positionals } = parseArgs({ args: argv, options: CERTIFICATE_OPTIONS, allowPositionals: true });
  if (values.help) return { text: HELP, exit: 0 };
  const path = requireOneFile(positionals);
  const file = readFileSync(path);
  const manifests = values["manifest-hash"] ?? [];
  if (!manifests.every((hash) => /^[0-9a-f]{64}$/.test(hash)))
    throw new Unreadable("--manifest-hash HEX is 64 lower-case hex digits, as GET /api/product/intent shows them");
  const report = verifyCertificate(file, {
    policy: values.policy === undefined ? undefined : readTlogPolicy(values.policy),
    trustedKeys: values.keys === undefined ? undefined : readPolicy(values.keys),
    acceptedManifests: manifests,
    furtherIntents: values.intents === undefined ? undefined : readIntents(values.intents),
  });
  if (values.extract !== undefined) extractFiles(file, values.extract);
  return { text: values.json ? JSON.stringify(report) : certificateText(path, report), exit: EXIT[report.verdict] };
}

/** Reads the files of a folder that are named after a hash. */
function readIntents(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => /^[0-9a-f]{64}\.json$/.test(name));
    return names.map((name) => readFileSync(join(folder, name), "utf8"));
  } catch (error) {
    throw new Unreadable(`--intents ${folder} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Writes the parts of a certificate as files. Errors: `Unreadable` where a file exists already, or cannot be written. */
function extractFiles(file: Buffer, folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of listFiles(file)) writeFileSync(join(folder, name), text, { flag: "wx" });
  } catch (error) {
    const { path, code } = error as NodeJS.ErrnoException;
    throw new Unreadable(`${path} cannot be written: ${code}`);
  }
}

function requireOneFile([file, ...others]: readonly string[]): string {
  if (file === undefined || others.length > 0) throw new Unreadable("exactly one FILE is needed; see --help");
  return file;
}

interface EvidenceOptions {
  key?: string[];
  checkpoint?: string[];
  witness?: string[];
  quorum?: string;
  "expected-length"?: string;
  "expected-head"?: string;
}

function readEvidence({ key = [], checkpoint = [], ...receipt }: EvidenceOptions): Evidence {
  if (key.length > 0 && checkpoint.length === 0) throw new Unreadable("--key needs a --checkpoint to verify");
  const keys = key.map(readKey);
  const evidence = checkpoint.map((file) => readCheckpoints(file, keys));
  return {
    states: [...evidence.flatMap(({ states }) => states), ...readReceipt(receipt)],
    checkpoints: evidence.flatMap(({ checkpoints }) => checkpoints),
    findings: evidence.flatMap(({ findings }) => findings),
    remarks: evidence.flatMap(({ remarks }) => remarks),
  };
}

function readCosignatures(
  { witness = [], quorum }: EvidenceOptions,
  { checkpoints, findings }: Evidence,
): WitnessReport {
  if (witness.length === 0 && quorum === undefined) return { witnessed: [], findings: [] };
  if (witness.length === 0) throw new Unreadable("--quorum needs a --witness to count");
  if (checkpoints.length === 0 && findings.length === 0)
    throw new Unreadable("--witness needs a --checkpoint that it cosigned");
  const witnesses = witness.map(readWitness);
  if (new Set(witnesses.map(({ raw }) => raw.toString("hex"))).size < witnesses.length)
    throw new Unreadable("--witness names one key twice");
  const count = quorum ?? String(witnesses.length);
  if (!/^[1-9]\d{0,3}$/.test(count) || Number(count) > witnesses.length)
    throw new Unreadable(`--quorum must be a number from 1 to ${witnesses.length}, the witnesses given`);
  return listCosignatures(checkpoints, witnesses, Number(count));
}

function readReceipt({ "expected-length": length, "expected-head": head }: EvidenceOptions): Evidence["states"] {
  if (length === undefined && head === undefined) return [];
  if (!/^(?:0|[1-9]\d{0,14})$/.test(length ?? "") || !/^[0-9a-f]{64}$/.test(head ?? ""))
    throw new Unreadable(
      "--expected-length N and --expected-head HEX go together: a number, and 64 lower-case hex digits",
    );
  return [{ length: Number(length), head: head!, description: `the receipt of entry ${length}` }];
}

// True for the program, also if a link starts it; false if a test imports this module.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  process.exitCode = await main(process.argv.slice(2));
