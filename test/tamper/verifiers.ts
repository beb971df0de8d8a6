/** Both offline verifiers, over exports in memory. */
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Kept } from "../../local/verify/kept.ts";
import { type Report, verifyExport } from "../../local/verify/verify.ts";

/** Runs `countersign-verify`'s own code; the bytes arrive in chunks of the given size. */
export function verify(log: Uint8Array | string, kept: Kept[] = [], chunk = 64 * 1024): Promise<Report> {
  return verifyExport(chunks(Buffer.from(log), chunk), { kept, findings: [], remarks: [] });
}

async function* chunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** An export, and what is kept of it. */
export interface Sample {
  what: string;
  log: Buffer;
  kept: Kept[];
}

/** What both verifiers must agree on. */
export const gistOf = ({ verdict, entries, findings, findings_total: total, head }: Report) => ({
  verdict,
  entries,
  total,
  head,
  findings: findings.map(({ line, entry, rule }) => ({ line, entry, rule })),
});
export type Gist = ReturnType<typeof gistOf>;

const SCRIPT = join(import.meta.dirname, "../../docs/verify_audit.py");

/** Why there is no Python here, or null. */
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
    report = verify_audit.verify_export(io.BytesIO(base64.b64decode(sample["log"])), sample["kept"])
    print(json.dumps(report))
`;

/** Runs `verify_audit.py` over many samples in one process. */
export function verifyInPython(samples: readonly Sample[]): Gist[] {
  const input = samples.map(({ log, kept }) => JSON.stringify({ log: log.toString("base64"), kept })).join("\n");
  const { stdout, stderr, status } = spawnSync("python3", ["-c", DRIVER, join(SCRIPT, "..")], {
    input,
    maxBuffer: 1 << 28,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(stderr);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => gistOf(JSON.parse(line) as Report));
}

/** How a program ended. */
export interface Ended {
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
export function runPythonOften(calls: readonly (readonly string[])[]): Ended[] {
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
    .map((line) => JSON.parse(line) as Ended);
}

/** Runs `verify_audit.py` as a program. */
export function runPython(args: readonly string[]): Ended {
  return spawnSync("python3", [SCRIPT, ...args], { encoding: "utf8" });
}
