/** Opens the witnesses of this log (`--audit-witness`), and the logs that this service is a witness of (`--witness-for`). */
import { readFileSync } from "node:fs";
import { COSIGNATURE, formatVerifierKey, parseVerifierKey, type VerifierKey } from "../lib/audit/note.ts";
import { type Watch, makeWatch } from "../lib/audit/witness_service.ts";
import type { Witness } from "../lib/audit/witness.ts";
import { loadAuditKey } from "./audit_key.ts";
import { sha256 } from "./node_ports.ts";
import type { Options } from "./options.ts";

/** Lists the witnesses of this log with their keys. */
export const listWitnesses = ({ auditWitnesses, auditWitnessKeys }: Options): Witness[] =>
  auditWitnesses.map((url, index) => ({ url, key: auditWitnessKeys[index]! }));

/** Opens the logs to watch and the key to cosign with; undefined without the options. Errors: one line for people. */
export function openWatch(options: Options, warn: (message: string) => void): Watch | undefined {
  const { witnessFor, witnessKey, witnessName, auditKey } = options;
  if (witnessFor === undefined || witnessKey === undefined || witnessName === undefined) return undefined;
  const signer = loadAuditKey(witnessKey, warn, "--witness-key");
  // Warnings about this key are given where it is loaded for signing.
  const auditPublicKey = auditKey === undefined ? undefined : loadAuditKey(auditKey, () => {}).publicKey;
  const isSame = (key: Uint8Array): boolean => Buffer.from(key).equals(signer.publicKey);
  if (auditPublicKey && isSame(auditPublicKey))
    throw new Error(
      "--witness-key is the key of --audit-key: a witness needs a key of its own, or the service would be a witness of its own log",
    );
  const logs = readLogs(witnessFor);
  if (logs.some(({ publicKey }) => isSame(publicKey)))
    throw new Error(`--witness-key is the key of a log in ${witnessFor}: a witness needs a key of its own`);
  return makeWatch({ name: witnessName, signer, logs });
}

/** Describes the watched logs and this witness's verifier key, for the log. */
export const describeWatch = ({ name, signer: { publicKey }, logs }: Watch) => ({
  logs: logs.map((log) => log.name),
  key: formatVerifierKey({ name, publicKey }, sha256, COSIGNATURE),
});

/** Reads a file with one verifier key a line; empty lines and lines that begin with # are ignored. */
function readLogs(path: string): VerifierKey[] {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`--witness-for ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
  const logs = text.split("\n").flatMap((line, index) => {
    const entry = line.trim();
    if (entry === "" || entry.startsWith("#")) return [];
    const key = parseVerifierKey(entry, sha256);
    if (key) return [key];
    throw new Error(
      `line ${index + 1} of --witness-for ${path} is not a verifier key; the log's service returns its key as "key" in GET /api/product/audit/checkpoint`,
    );
  });
  if (logs.length === 0) throw new Error(`--witness-for ${path} has no verifier key`);
  return logs;
}
