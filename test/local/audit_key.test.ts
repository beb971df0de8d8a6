/** Tests which files are accepted as the key that signs checkpoints, and the errors for all others. */
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { computeKeyId, isSignedWithKey } from "../../lib/audit/note.ts";
import { loadAuditKey } from "../../local/audit_key.ts";
import { sha256 } from "../../local/node_ports.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-key-"));
afterAll(() => rmSync(folder, { recursive: true }));

function writeKeyFile(name: string, content: string, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

const newPem = (type: "ed25519" | "ed448") =>
  generateKeyPairSync(type as "ed25519")
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString();
const failOnWarning = (message: string) => expect.unreachable(message);

test("a signature by a loaded key is valid for its public key", async () => {
  const signer = loadAuditKey(writeKeyFile("key.pem", newPem("ed25519")), failOnWarning);
  const text = "log\n1\nroot\n";
  const key = { name: "log", publicKey: signer.publicKey };
  const signature = await signer.sign(new TextEncoder().encode(text));
  const note = { text, signatures: [{ name: "log", keyId: computeKeyId(key, sha256), signature }] };
  expect(await isSignedWithKey(note, key, sha256)).toBe(true);
});

const hasOpenssl = ((): boolean => {
  try {
    execFileSync("openssl", ["version"]);
    return true;
  } catch {
    return false;
  }
})();

test.skipIf(!hasOpenssl)("a key of openssl is loaded (skipped without openssl)", () => {
  const path = join(folder, "openssl.pem");
  execFileSync("openssl", ["genpkey", "-algorithm", "ed25519", "-out", path]);
  const der = execFileSync("openssl", ["pkey", "-in", path, "-pubout", "-outform", "DER"]);
  chmodSync(path, 0o600);
  // The 32 bytes of the key follow a DER header of 12 bytes.
  expect(Buffer.from(loadAuditKey(path, failOnWarning).publicKey)).toEqual(der.subarray(12));
});

test.skipIf(process.platform === "win32")("a key that others can read causes a warning", () => {
  const warnings: string[] = [];
  loadAuditKey(writeKeyFile("open.pem", newPem("ed25519"), 0o640), (message) => void warnings.push(message));
  expect(warnings).toEqual([expect.stringContaining("set its mode to 600")]);
});

test.each([
  ["does not exist", join(folder, "none.pem"), "cannot be read: ENOENT"],
  ["is a folder", folder, "cannot be read: EISDIR"],
  ["is no key", writeKeyFile("text.pem", "hello"), "holds no private key"],
  ["is of another kind", writeKeyFile("ed448.pem", newPem("ed448")), "the key is ed448, Ed25519 is needed"],
])("a file that %s is rejected with an error that names the file", (_, path, reason) => {
  expect(() => loadAuditKey(path, failOnWarning)).toThrow(`--audit-key ${path}`);
  expect(() => loadAuditKey(path, failOnWarning)).toThrow(reason);
});
