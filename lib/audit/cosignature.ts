/** The Ed25519 cosignature of C2SP, by which a witness states the time of a checkpoint and that the log has only grown. */
import { bytesToHex } from "@noble/hashes/utils.js";
import type { Sha256 } from "../kit/platform.ts";
import type { CheckpointSigner } from "./checkpoint.ts";
import {
  COSIGNATURE,
  isValidEd25519,
  computeKeyId,
  type Note,
  type NoteSignature,
  listSignatures,
  type VerifierKey,
} from "./note.ts";

const TIME_BYTES = 8;
const SIGNATURE_BYTES = 64;

/** Encodes the signed message: `cosignature/v1`, the time in seconds, and the complete text of the note. */
const cosignedMessage = (text: string, time: bigint): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(`cosignature/v1\ntime ${time}\n${text}`);

/** Cosigns the text of a checkpoint. `now`: milliseconds since the epoch. */
export async function cosign(
  { name, signer }: { name: string; signer: CheckpointSigner },
  text: string,
  now: number,
  sha256: Sha256,
): Promise<NoteSignature> {
  const time = BigInt(Math.floor(now / 1000));
  const signature = new Uint8Array(TIME_BYTES + SIGNATURE_BYTES);
  new DataView(signature.buffer).setBigUint64(0, time);
  signature.set(await signer.sign(cosignedMessage(text, time)), TIME_BYTES);
  return { name, keyId: computeKeyId({ name, publicKey: signer.publicKey }, sha256, COSIGNATURE), signature };
}

/**
 * Returns the time of a key's latest cosignature of a note, in milliseconds. Undefined if the note has no cosignature with the
 * key's name and id, or an invalid one.
 */
export async function findCosignatureTime(note: Note, key: VerifierKey, sha256: Sha256): Promise<number | undefined> {
  const own = listSignatures(note, key, computeKeyId(key, sha256, COSIGNATURE));
  const times = await Promise.all(own.map(({ signature }) => verifyTime(note.text, key, signature)));
  if (times.length === 0 || times.includes(undefined)) return undefined;
  return Math.max(...(times as number[])) * 1000;
}

async function verifyTime(
  text: string,
  key: VerifierKey,
  timedSignature: Uint8Array<ArrayBuffer>,
): Promise<number | undefined> {
  if (timedSignature.length !== TIME_BYTES + SIGNATURE_BYTES) return undefined;
  const time = BigInt(`0x${bytesToHex(timedSignature.slice(0, TIME_BYTES))}`);
  const signature = timedSignature.slice(TIME_BYTES);
  const isValid = time > 0n && (await isValidEd25519(key, signature, cosignedMessage(text, time)));
  return isValid ? Number(time) : undefined;
}
