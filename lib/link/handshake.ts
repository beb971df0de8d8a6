/**
 * The two opening frames, which contain the identity of each end and a new nonce. The nonces are not returned: the keys of a
 * session are derived from the bytes of both frames.
 */
import { bytesToHex } from "@noble/hashes/utils.js";
import * as z from "zod";
import { line } from "../kit/fields.ts";
import { FRAME, type Frame, makeFrame, LENGTH_BYTES, MAX_UNPROVEN_BYTES, ProtocolViolation } from "./frames.ts";
import { toBytes, toObject } from "./payload.ts";

const VERSION = 1;
const NONCE_BYTES = 32;

const name = line(200);
const nullableName = name.nullable().default(null);

/** Identity of one end of the link; `product_id` is `null` if it governs no product. */
export const peerIdentitySchema = z.object({
  peer_id: z.string().regex(/^[0-9a-f]{32}$/, "must be 32 lower-case hex digits"),
  instance_id: name,
  product_id: nullableName,
  product_type: nullableName,
});
export type PeerIdentity = z.infer<typeof peerIdentitySchema>;

const challengeSchema = peerIdentitySchema.extend({
  v: z.literal(VERSION),
  nonce: z.string().regex(/^[0-9a-f]{64}$/, "must be 32 bytes as lower-case hex"),
});
const helloSchema = challengeSchema.extend({ kid: z.string().max(64) });

/** Creates the client's opening frame, HELLO. */
export const helloFrame = (self: PeerIdentity, kid: string, nonce: Uint8Array): Uint8Array =>
  makeFrame(FRAME.hello, toBytes({ v: VERSION, kid, ...self, nonce: bytesToHex(nonce) }));

/** Creates the server's opening frame, CHALLENGE, which answers a HELLO. */
export const challengeFrame = (self: PeerIdentity, nonce: Uint8Array): Uint8Array =>
  makeFrame(FRAME.challenge, toBytes({ v: VERSION, ...self, nonce: bytesToHex(nonce) }));

/** Parses a HELLO. Errors: `ProtocolViolation` if it is not one of this version. */
export const readHello = (frame: Frame): { peer: PeerIdentity; kid: string } => {
  const { kid, ...hello } = read(frame, FRAME.hello, helloSchema);
  return { peer: peerIdentitySchema.parse(hello), kid };
};

/** Parses a CHALLENGE. Errors: `ProtocolViolation` if it is not one of this version. */
export const readChallenge = (frame: Frame): PeerIdentity =>
  peerIdentitySchema.parse(read(frame, FRAME.challenge, challengeSchema));

/** Returns the proof of a PROOF frame, an HMAC-SHA256. Errors: `ProtocolViolation`. */
export function readProof(frame: Frame): Uint8Array {
  if (frame.type !== FRAME.proof || frame.body.length !== 32) throw new ProtocolViolation("a proof was due");
  return frame.body;
}

/**
 * Rejects an identity that no peer would accept, before anything is sent: a name of over 200 characters, or names that do not
 * fit together into an opening frame. The error's message names the field.
 */
export function checkIdentity(self: PeerIdentity): void {
  const { error } = peerIdentitySchema.safeParse(self);
  if (error) throw new Error(describeIssue(error));
  // A secret's id has 8 digits; HELLO, which has one, is the longer of the two frames.
  const length = helloFrame(self, "0".repeat(8), new Uint8Array(NONCE_BYTES)).length - LENGTH_BYTES;
  if (length > MAX_UNPROVEN_BYTES)
    throw new Error(
      `instance_id, product_id and product_type are ${length - MAX_UNPROVEN_BYTES} bytes too long together`,
    );
}

function read<T>(frame: Frame, type: number, schema: z.ZodType<T>): T {
  if (frame.type !== type) throw new ProtocolViolation(`a frame of type ${type} was due, not ${frame.type}`);
  const parsed = schema.safeParse(toObject(frame.body));
  if (parsed.success) return parsed.data;
  throw new ProtocolViolation(`the opening frame's ${describeIssue(parsed.error)}`);
}

const describeIssue = ({ issues: [first] }: z.ZodError): string => `${first!.path.join(".")} ${first!.message}`;
