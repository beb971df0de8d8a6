/** Runs both verifiers on exports. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifyExport } from "../../../local/verify/verify.ts";

/** Prints the messages of the findings for each file; one process for all, since its start takes longest. */
const DRIVER = `
import contextlib, io, json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "docs")
import verify_audit
for path in sys.argv[2:]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        verify_audit.main([path, "--json", *sys.argv[1].split()])
    print(json.dumps([finding["message"] for finding in json.loads(out.getvalue())["findings"]]))
`;

/** Returns the messages of both verifiers' findings for each text; `contents` is true if the exports have the contents. */
export async function judgeExports(
  texts: readonly string[],
  contents = false,
): Promise<{ typescript: string[]; python: string[] }[]> {
  const folder = mkdtempSync(join(tmpdir(), "exports-"));
  try {
    const paths = texts.map((text, index) => {
      const path = join(folder, `${index}.jsonl`);
      writeFileSync(path, text);
      return path;
    });
    const { stdout } = spawnSync("python3", ["-c", DRIVER, contents ? "--changes" : "", ...paths], {
      encoding: "utf8",
    });
    const python = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as string[]);
    return await Promise.all(
      texts.map(async (text, index) => ({ typescript: await judge(text, contents), python: python[index]! })),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the messages of the findings of the verifier in TypeScript. */
export async function judge(text: string, contents = false): Promise<string[]> {
  const pieces = (async function* () {
    yield Buffer.from(text);
  })();
  // Without keys, checkpoints or earlier states: only the export itself is judged.
  const { findings } = await verifyExport(pieces, { states: [], findings: [], remarks: [] }, { contents });
  return findings.map(({ message }) => message);
}
