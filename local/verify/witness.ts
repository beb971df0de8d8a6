/** Who saw the log: cosignatures of checkpoints (C2SP tlog-cosignature, Ed25519). */
import { existsSync } from "node:fs";
import { verify } from "node:crypto";
import type { Finding } from "./chain.ts";
import { readText, Unreadable } from "./kept.ts";
import { type Checkpoint, type Key, computeKeyId, parseVerifierKey } from "./note.ts";

/** A witness whose cosignatures count. */
export type Witness = Key & { name: string };

/** The longest log that a witness saw. */
export interface Witnessed {
  name: string;
  length: number;
  /** Seconds since the epoch, by the witness's clock. */
  time: number;
}

/** Witnesses that checkpoints show. */
export interface Sightings {
  /** In the order of the witnesses; without those that saw nothing. */
  witnessed: Witnessed[];
  findings: Finding[];
}

/** The signature type of a witness. */
export const COSIGNATURE = 4;
const TIME_BYTES = 8;
/** The end of the year 9999. */
const LATEST = 253_402_300_799n;

/** Reads the verifier key of a witness, from a file or as it is. Errors: `Unreadable`. */
export function readWitness(fileOrKey: string): Witness {
  const key = parseVerifierKey(existsSync(fileOrKey) ? readText(fileOrKey) : fileOrKey, COSIGNATURE);
  if (key) return key;
  throw new Unreadable(`${fileOrKey} is no verifier key of a witness: <name>+<key id>+<base64>, Ed25519 cosignature`);
}

/** Looks for the witnesses in checkpoints; at least `quorum` of them must have cosigned one and the same. */
export function listCosignatures(
  checkpoints: readonly { checkpoint: Checkpoint; what: string }[],
  witnesses: readonly Witness[],
  quorum: number,
): Sightings {
  const longest = new Map<Witness, Witnessed>();
  const findings: Finding[] = [];
  const found = (message: string) => findings.push({ line: null, entry: null, rule: "cosignature", message });
  let most = 0;
  for (const { checkpoint, what } of checkpoints) {
    let here = 0;
    for (const witness of witnesses) {
      const time = cosignedAt(checkpoint, witness);
      if (time === undefined) continue;
      if (time === null) found(`${what} bears a cosignature of ${witness.name} that does not hold`);
      else {
        here++;
        const { length } = checkpoint;
        const before = longest.get(witness);
        if (!before || length > before.length || (length === before.length && time > before.time))
          longest.set(witness, { name: witness.name, length, time });
      }
    }
    most = Math.max(most, here);
  }
  if (most < quorum)
    found(`no checkpoint is cosigned by ${quorum} of ${witnesses.length} witnesses; the most that one is are ${most}`);
  return { witnessed: witnesses.flatMap((witness) => longest.get(witness) ?? []), findings };
}

/**
 * When a witness cosigned, the latest time in seconds since the epoch; `null` when a cosignature in its name does not hold,
 * undefined without one.
 */
export function cosignedAt({ text, signatures }: Checkpoint, { name, raw, key }: Witness): number | null | undefined {
  const own = signatures.filter(
    (signature) => signature.name === name && signature.keyId === computeKeyId(name, raw, COSIGNATURE),
  );
  const times = own.map(({ signature }) => {
    if (signature.length !== TIME_BYTES + 64) return null;
    const time = signature.readBigUInt64BE();
    const message = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`);
    const holds = time > 0n && time <= LATEST && verify(null, message, key, signature.subarray(TIME_BYTES));
    return holds ? Number(time) : null;
  });
  if (times.length === 0) return undefined;
  return times.some((time) => time === null) ? null : Math.max(...(times as number[]));
}
