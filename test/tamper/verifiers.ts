/** Runs both offline verifiers on exports in memory. */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { type LogState, Unreadable } from "../../local/verify/evidence.ts";
import { type Report, verifyExport } from "../../local/verify/verify.ts";

/** The verdict of these tests for a file that a verifier could not read. */
const UNREADABLE = "unreadable" as Report["verdict"];

/** Runs the code of `countersign-verify` on an export that is read in chunks of the given size. */
export async function verify(log: Uint8Array | string, evidence: LogState[] = [], chunk = 64 * 1024): Promise<Report> {
  try {
    return await verifyExport(chunks(Buffer.from(log), chunk), { states: evidence, findings: [], remarks: [] });
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return unreadableReport(error.message);
  }
}

const unreadableReport = (reason: string): Report => ({
  verdict: UNREADABLE,
  entries: 0,
  origin: "",
  head: "",
  findings: [],
  findings_total: 0,
  held_against: [],
  witnessed: [],
  proofs: { verified: 0, as_named: 0, not_checked: 0, unsigned: 0 },
  contents: null,
  losses: [],
  not_checked: [],
  remarks: [reason],
});

async function* chunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** An export, and the receipts and checkpoints to verify it against. */
export interface Sample {
  title: string;
  log: Buffer;
  evidence: LogState[];
}

/** Picks the fields of a report on which both verifiers must agree. */
export const summarizeReport = ({ verdict, entries, findings, findings_total: total, head, remarks }: Report) => ({
  verdict,
  entries,
  total,
  head,
  findings: findings.map(({ line, entry, rule }) => ({ line, entry, rule })),
  reason: verdict === UNREADABLE ? remarks[0] : undefined,
});
export type ReportSummary = ReturnType<typeof summarizeReport>;

const SCRIPT = join(import.meta.dirname, "../../docs/verify_audit.py");

/** The reason why Python cannot be used here, or null. */
export const pythonMissing: string | null = ((): string | null => {
  try {
    execFileSync("python3", ["-c", "import sys; assert sys.version_info >= (3, 8)"], { stdio: "pipe" });
    return null;
  } catch {
    return "python3 3.8 or later is absent";
  }
})();

const DRIVER = `
import base64, io, json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import verify_audit
for line in sys.stdin:
    sample = json.loads(line)
    try:
        print(json.dumps(verify_audit.verify_export(io.BytesIO(base64.b64decode(sample["log"])), sample["evidence"])))
    except verify_audit.Unreadable as error:
        print(json.dumps({"reason": str(error)}))
`;

/** Runs `verify_audit.py` over many samples in one process. */
export function verifyInPython(samples: readonly Sample[]): ReportSummary[] {
  const input = samples
    .map(({ log, evidence }) => JSON.stringify({ log: log.toString("base64"), evidence }))
    .join("\n");
  const { stdout, stderr, status } = spawnSync("python3", ["-c", DRIVER, join(SCRIPT, "..")], {
    input,
    maxBuffer: 1 << 28,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Report | { reason: string })
    .map((report) => summarizeReport("reason" in report ? unreadableReport(report.reason) : report));
}

/** Exit status and output of a program. */
export interface ProgramResult {
  status: number | null;
  stdout: string;
  stderr: string;
}

const CALLER = `
import contextlib, io, json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import verify_audit
for line in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        status = verify_audit.main(json.loads(line))
    print(json.dumps({"status": status, "stdout": out.getvalue(), "stderr": err.getvalue()}))
`;

/** Runs the program in `verify_audit.py` once for each list of arguments, in one process. */
export function runPythonOften(calls: readonly (readonly string[])[]): ProgramResult[] {
  const input = calls.map((args) => JSON.stringify(args)).join("\n");
  const { stdout, stderr, status } = spawnSync("python3", ["-c", CALLER, join(SCRIPT, "..")], {
    input,
    maxBuffer: 1 << 28,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as ProgramResult);
}

/** Runs `verify_audit.py` as a program. */
export function runPython(args: readonly string[]): ProgramResult {
  return spawnSync("python3", [SCRIPT, ...args], { encoding: "utf8" });
}
