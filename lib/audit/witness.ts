/** Requests to a witness in the C2SP `tlog-witness` protocol. */
import { decodeBase64 } from "../kit/base64.ts";
import { readCappedText } from "../kit/capped_text.ts";
import { describeCause } from "../kit/fetch_failure.ts";
import type { VerifierKey } from "./note.ts";

/** A witness that this log asks to cosign its checkpoints. */
export interface Witness {
  /** Base address, to which `/add-checkpoint` is appended. */
  url: string;
  /** Verifies its cosignatures. */
  key: VerifierKey;
}

/** A checkpoint with the proof that it continues the checkpoint of `old` entries. */
export interface Submission {
  old: number;
  /** Base64 hashes, at most 63. */
  proof: readonly string[];
  note: string;
}

/** Answer of a witness: signature lines, the size it cosigned last, or a rejection with its status. */
export type WitnessAnswer =
  { kind: "cosigned"; lines: string } | { kind: "conflict"; size: number } | { kind: "refused"; status: number };

const MAX_PROOF_LINES = 63;
/** A number of entries; a double stores 15 digits exactly. */
const SIZE_PATTERN = /^(?:0|[1-9]\d{0,14})$/;
const MAX_ANSWER_BYTES = 16 * 1024;

/** Formats the body of an `add-checkpoint` request. */
export const formatSubmission = ({ old, proof, note }: Submission): string =>
  `old ${old}\n${proof.map((hash) => `${hash}\n`).join("")}\n${note}`;

/** Parses the body of an `add-checkpoint` request; undefined for any other text. */
export function parseSubmission(body: string): Submission | undefined {
  const end = body.indexOf("\n\n");
  const [first = "", ...proof] = body.slice(0, Math.max(end, 0)).split("\n");
  const [, old = ""] = /^old (\S+)$/.exec(first) ?? [];
  const hasValidForm = SIZE_PATTERN.test(old) && proof.length <= MAX_PROOF_LINES;
  if (!hasValidForm || !proof.every((line) => decodeBase64(line)?.length === 32)) return undefined;
  return { old: Number(old), proof, note: body.slice(end + 2) };
}

/** Submits a checkpoint. Errors: an Error with a message for people if no answer arrived, or an unknown one. */
export async function submitCheckpoint(
  { url }: Witness,
  submission: Submission,
  signal: AbortSignal,
): Promise<WitnessAnswer> {
  const response = await fetch(`${url}/add-checkpoint`, {
    method: "POST",
    headers: { "content-type": "text/plain; charset=utf-8" },
    body: formatSubmission(submission),
    redirect: "error",
    signal,
  }).catch((error: unknown) => {
    throw new Error(`it cannot be reached: ${describeCause(error)}`);
  });
  const body = await readCappedText(response, MAX_ANSWER_BYTES);
  if (response.ok && body !== undefined) return { kind: "cosigned", lines: body };
  if (response.status === 409) {
    const size = body?.slice(0, -1) ?? "";
    if (!SIZE_PATTERN.test(size) || !body?.endsWith("\n"))
      throw new Error("it answered 409 without the size that it cosigned");
    return { kind: "conflict", size: Number(size) };
  }
  if ([400, 403, 404, 422].includes(response.status)) return { kind: "refused", status: response.status };
  throw new Error(`it answered ${response.status}${body === undefined ? ", and too much" : ""}`);
}
