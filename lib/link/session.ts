/**
 * One end of a connection as a state machine: it receives bytes, and returns bytes to send and events. It uses no socket, clock
 * or timer. After a protocol violation it ignores all input.
 */
import {
  FRAME,
  type Frame,
  makeFrame,
  createFrameReader,
  MAX_PROVEN_BYTES,
  MAX_UNPROVEN_BYTES,
  ProtocolViolation,
} from "./frames.ts";
import { challengeFrame, helloFrame, type PeerIdentity, readChallenge, readHello, readProof } from "./handshake.ts";
import {
  clientProof,
  isSameBytes,
  type Mac,
  portableMac,
  type SecretKey,
  serverProof,
  deriveSessionKeys,
  makeTranscript,
} from "./keys.ts";
import { toBytes, toObject } from "./payload.ts";
import { createOpener, SEAL_BYTES, createSealer } from "./seal.ts";

/** The end that opened the connection is the client. */
export type Role = "client" | "server";

/** An event of a session; a violation's reason is for this node's own log. */
export type LinkEvent =
  | { kind: "established"; peer: PeerIdentity }
  | { kind: "request"; id: number; message: string; body: unknown }
  | { kind: "response"; id: number; status: number; body: unknown }
  | { kind: "pong" }
  | { kind: "violation"; reason: string };

/** Result of received bytes: bytes to send, in order, and events. */
export interface Step {
  send: Uint8Array[];
  events: LinkEvent[];
}

/** Initial state of one end. */
export interface SessionOptions {
  role: Role;
  self: PeerIdentity;
  /** Keys of the shared secrets: a client uses the first, a server accepts any. */
  keys: readonly SecretKey[];
  /** 32 new random bytes. */
  nonce: Uint8Array;
  mac?: Mac;
}

/** One end of one connection. */
export type Session = ReturnType<typeof createSession>;

/** A state of the machine: handles the next frame and returns the next state. */
type State = (frame: Frame, step: Step) => State;
type Seal = ReturnType<typeof createSealer>;

const EMPTY = new Uint8Array();
const MAX_PAYLOAD_BYTES = MAX_PROVEN_BYTES - SEAL_BYTES;

/** Creates an end before its first byte. */
export function createSession({ role, self, keys, nonce, mac = portableMac }: SessionOptions) {
  const reader = createFrameReader();
  const ownKey = keys[0]!;
  const hello = role === "client" ? helloFrame(self, ownKey.kid, nonce) : EMPTY;
  let hasKnownSecret = false;
  let isClosed = false;
  let seal: Seal | undefined;

  const rejectSelf = (peer: PeerIdentity): void => {
    if (peer.peer_id === self.peer_id)
      throw new ProtocolViolation(
        "the other end has this node's own peer_id: it is this node, or was made from a copy of its state",
      );
  };

  const establish = (key: Uint8Array, transcript: Uint8Array, peer: PeerIdentity, step: Step): State => {
    const directions = deriveSessionKeys(key, transcript);
    const [own, other] =
      role === "client" ? [directions.client, directions.server] : [directions.server, directions.client];
    seal = createSealer(own, mac);
    step.events.push({ kind: "established", peer });
    return inSession(createOpener(other, mac));
  };

  const awaitChallenge: State = (frame, step) => {
    const peer = readChallenge(frame);
    rejectSelf(peer);
    hasKnownSecret = true;
    const transcript = makeTranscript(hello, frame.bytes);
    const proof = clientProof(ownKey.key, transcript);
    step.send.push(makeFrame(FRAME.proof, proof));
    return (proofFrame, proofStep) => {
      if (!isSameBytes(readProof(proofFrame), serverProof(ownKey.key, transcript, proof)))
        throw new ProtocolViolation("the server does not hold the secret");
      return establish(ownKey.key, transcript, peer, proofStep);
    };
  };

  const awaitHello: State = (frame, step) => {
    const { peer, kid } = readHello(frame);
    rejectSelf(peer);
    const key = keys.find((candidate) => candidate.kid === kid)?.key;
    if (!key) throw new ProtocolViolation("the client uses a secret that is not one of this node's");
    hasKnownSecret = true;
    const challenge = challengeFrame(self, nonce);
    const transcript = makeTranscript(frame.bytes, challenge);
    step.send.push(challenge);
    return (proofFrame, proofStep) => {
      const proof = readProof(proofFrame);
      if (!isSameBytes(proof, clientProof(key, transcript)))
        throw new ProtocolViolation("the client does not hold the secret");
      proofStep.send.push(makeFrame(FRAME.proof, serverProof(key, transcript, proof)));
      return establish(key, transcript, peer, proofStep);
    };
  };

  const inSession =
    (open: ReturnType<typeof createOpener>): State =>
    (frame, step) => {
      const payload = open(frame);
      if (frame.type === FRAME.ping) step.send.push(seal!(FRAME.pong, EMPTY));
      else step.events.push(parseEvent(frame.type, payload));
      return inSession(open);
    };

  let state: State = role === "client" ? awaitChallenge : awaitHello;

  return {
    /** True when the other end has named a shared secret; it may not have proved yet that it knows it. */
    get hasKnownSecret() {
      return hasKnownSecret;
    },
    get established() {
      return seal !== undefined;
    },
    /** Number of bytes that are allocated for an unfinished frame. */
    get buffered() {
      return reader.buffered;
    },
    /** Returns the first frames to send; none for a server. */
    open: () => (role === "client" ? [hello] : []),
    receive(chunk: Uint8Array): Step {
      const step: Step = { send: [], events: [] };
      if (isClosed) return step;
      try {
        reader.push(chunk);
        for (;;) {
          const frame = reader.next(seal ? MAX_PROVEN_BYTES : MAX_UNPROVEN_BYTES);
          if (!frame) return step;
          state = state(frame, step);
        }
      } catch (error) {
        if (!(error instanceof ProtocolViolation)) throw error;
        isClosed = true;
        step.events.push({ kind: "violation", reason: error.message });
        return step;
      }
    },
    // Only an established session makes the following frames.
    /** Makes the frame of a request. Errors: `RangeError` if it does not fit into a frame. */
    request(id: number, message: string, body: unknown): Uint8Array {
      const payload = toBytes({ id, message, body });
      if (payload.length > MAX_PAYLOAD_BYTES)
        throw new RangeError(
          `a request of ${payload.length} bytes is over the ${MAX_PAYLOAD_BYTES} that a frame carries`,
        );
      return seal!(FRAME.request, payload);
    },
    /** Makes the frame of an answer; an answer that does not fit into a frame is replaced by status 413. */
    respond(id: number, status: number, body: unknown): Uint8Array {
      const payload = toBytes({ id, status, body });
      return seal!(FRAME.response, payload.length > MAX_PAYLOAD_BYTES ? toBytes(createTooLargeAnswer(id)) : payload);
    },
    ping: (): Uint8Array => seal!(FRAME.ping, EMPTY),
  };
}

const createTooLargeAnswer = (id: number) => ({
  id,
  status: 413,
  body: { error: `the answer is over the ${MAX_PAYLOAD_BYTES} bytes that a frame carries`, code: "answer_too_large" },
});

function parseEvent(type: number, payload: Uint8Array): LinkEvent {
  if (type === FRAME.pong) return { kind: "pong" };
  if (type !== FRAME.request && type !== FRAME.response)
    throw new ProtocolViolation(`there is no frame of type ${type}`);
  const { id, message, status, body } = toObject(payload);
  if (!Number.isSafeInteger(id)) throw new ProtocolViolation("a message has no id");
  if (type === FRAME.request) {
    if (typeof message !== "string") throw new ProtocolViolation("a request names no message");
    return { kind: "request", id: id as number, message, body };
  }
  if (!Number.isInteger(status)) throw new ProtocolViolation("an answer has no status");
  return { kind: "response", id: id as number, status: status as number, body };
}
