/** Verifies cosignatures of checkpoints by witnesses (C2SP tlog-cosignature, Ed25519). */
import { existsSync } from "node:fs";
import { verify } from "node:crypto";
import type { Finding } from "./chain.ts";
import { readText, Unreadable } from "./evidence.ts";
import { type Checkpoint, type Key, computeKeyId, parseVerifierKey } from "./note.ts";

/** A witness whose cosignatures count. */
export type Witness = Key & { name: string };

/** The longest log that a witness cosigned. */
export interface WitnessedLog {
  name: string;
  length: number;
  /** Seconds since the epoch, by the witness's clock. */
  time: number;
}

/** Result of verifying cosignatures. */
export interface WitnessReport {
  /** In the order of the witnesses, without those that cosigned no checkpoint. */
  witnessed: WitnessedLog[];
  findings: Finding[];
}

/** The signature type of a witness. */
export const COSIGNATURE = 4;
const TIME_BYTES = 8;
const SIGNATURE_BYTES = 64;
/** The end of the year 9999. */
const LATEST = 253_402_300_799n;

/** Reads the verifier key of a witness: from a file if one has this name, else the text itself. Errors: `Unreadable`. */
export function readWitness(fileOrKey: string): Witness {
  const key = parseVerifierKey(existsSync(fileOrKey) ? readText(fileOrKey) : fileOrKey, COSIGNATURE);
  if (key) return key;
  throw new Unreadable(
    `${fileOrKey} is not a verifier key of a witness: <name>+<key id>+<base64>, Ed25519 cosignature`,
  );
}

/** Verifies the witnesses' cosignatures of checkpoints; at least `quorum` of them must have cosigned the same checkpoint. */
export function listCosignatures(
  checkpoints: readonly { checkpoint: Checkpoint; description: string }[],
  witnesses: readonly Witness[],
  quorum: number,
): WitnessReport {
  const longest = new Map<Witness, WitnessedLog>();
  const findings: Finding[] = [];
  const addFinding = (message: string) => findings.push({ line: null, entry: null, rule: "cosignature", message });
  let maxCosigned = 0;
  for (const { checkpoint, description } of checkpoints) {
    let cosignedCount = 0;
    for (const witness of witnesses) {
      const time = readCosignatureTime(checkpoint, witness);
      if (time === undefined) continue;
      if (time === null) addFinding(`${description} has an invalid cosignature of ${witness.name}`);
      else {
        cosignedCount++;
        const { length } = checkpoint;
        const before = longest.get(witness);
        if (!before || length > before.length || (length === before.length && time > before.time))
          longest.set(witness, { name: witness.name, length, time });
      }
    }
    maxCosigned = Math.max(maxCosigned, cosignedCount);
  }
  if (maxCosigned < quorum)
    addFinding(
      `no checkpoint is cosigned by ${quorum} of ${witnesses.length} witnesses; the most on one checkpoint are ${maxCosigned}`,
    );
  return { witnessed: witnesses.flatMap((witness) => longest.get(witness) ?? []), findings };
}

/**
 * Returns the latest time at which a witness cosigned, in seconds since the epoch; `null` when a cosignature in its name is
 * invalid, undefined without one.
 */
export function readCosignatureTime(
  { text, signatures }: Checkpoint,
  { name, raw, key }: Witness,
): number | null | undefined {
  const own = signatures.filter(
    (signature) => signature.name === name && signature.keyId === computeKeyId(name, raw, COSIGNATURE),
  );
  const times = own.map(({ signature }) => {
    if (signature.length !== TIME_BYTES + SIGNATURE_BYTES) return null;
    const time = signature.readBigUInt64BE();
    const message = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`);
    const holds = time > 0n && time <= LATEST && verify(null, message, key, signature.subarray(TIME_BYTES));
    return holds ? Number(time) : null;
  });
  if (times.length === 0) return undefined;
  return times.some((time) => time === null) ? null : Math.max(...(times as number[]));
}
