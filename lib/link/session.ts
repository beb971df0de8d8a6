/**
 * One end of one connection, as a state machine: bytes in, bytes and events out. It knows no socket, clock or timer.
 * After a violation it is over: it takes nothing in and gives nothing out.
 */
import { FRAME, type Frame, makeFrame, frameReader, PROVEN_LIMIT, UNPROVEN_LIMIT, Violation } from "./frames.ts";
import { challengeFrame, helloFrame, type PeerIdentity, readChallenge, readHello, readProof } from "./handshake.ts";
import {
  clientProof,
  equalBytes,
  type Mac,
  portableMac,
  type SecretKey,
  serverProof,
  sessionKeys,
  makeTranscript,
} from "./keys.ts";
import { toBytes, toObject } from "./payload.ts";
import { opener, SEAL_BYTES, sealer } from "./seal.ts";

/** The client is the end that dialled. */
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
  /** A client uses the first, a server accepts any. */
  keys: readonly SecretKey[];
  /** 32 bytes, never used before. */
  nonce: Uint8Array;
  mac?: Mac;
}

/** One end of one connection. */
export type Session = ReturnType<typeof session>;

type Stage = (frame: Frame, step: Step) => Stage;
type Seal = ReturnType<typeof sealer>;

const NOTHING = new Uint8Array();
const LARGEST_PAYLOAD = PROVEN_LIMIT - SEAL_BYTES;

/** An end before its first byte. */
export function session({ role, self, keys, nonce, mac = portableMac }: SessionOptions) {
  const reader = frameReader();
  const ownKey = keys[0]!;
  const hello = role === "client" ? helloFrame(self, ownKey.kid, nonce) : NOTHING;
  let greeted = false;
  let over = false;
  let seal: Seal | undefined;

  const refuseSelf = (peer: PeerIdentity): void => {
    if (peer.peer_id === self.peer_id)
      throw new Violation(
        "the other end has this node's own peer_id: it is this node, or was made from a copy of its state",
      );
  };

  const establish = (key: Uint8Array, transcript: Uint8Array, peer: PeerIdentity, step: Step): Stage => {
    const directions = sessionKeys(key, transcript);
    const [own, other] =
      role === "client" ? [directions.client, directions.server] : [directions.server, directions.client];
    seal = sealer(own, mac);
    step.events.push({ kind: "established", peer });
    return inSession(opener(other, mac));
  };

  const awaitChallenge: Stage = (frame, step) => {
    const peer = readChallenge(frame);
    refuseSelf(peer);
    greeted = true;
    const transcript = makeTranscript(hello, frame.bytes);
    const proof = clientProof(ownKey.key, transcript);
    step.send.push(makeFrame(FRAME.proof, proof));
    return (answer, next) => {
      if (!equalBytes(readProof(answer), serverProof(ownKey.key, transcript, proof)))
        throw new Violation("the server does not hold the secret");
      return establish(ownKey.key, transcript, peer, next);
    };
  };

  const awaitHello: Stage = (frame, step) => {
    const { peer, kid } = readHello(frame);
    refuseSelf(peer);
    const key = keys.find((known) => known.kid === kid)?.key;
    if (!key) throw new Violation("the client uses a secret that is not one of this node's");
    greeted = true;
    const challenge = challengeFrame(self, nonce);
    const transcript = makeTranscript(frame.bytes, challenge);
    step.send.push(challenge);
    return (answer, next) => {
      const proof = readProof(answer);
      if (!equalBytes(proof, clientProof(key, transcript))) throw new Violation("the client does not hold the secret");
      next.send.push(makeFrame(FRAME.proof, serverProof(key, transcript, proof)));
      return establish(key, transcript, peer, next);
    };
  };

  const inSession =
    (open: ReturnType<typeof opener>): Stage =>
    (frame, step) => {
      const payload = open(frame);
      if (frame.type === FRAME.ping) step.send.push(seal!(FRAME.pong, NOTHING));
      else step.events.push(eventOf(frame.type, payload));
      return inSession(open);
    };

  let stage: Stage = role === "client" ? awaitChallenge : awaitHello;

  return {
    /** True if the other end has named a secret that is shared; it may not have proved it yet. */
    get greeted() {
      return greeted;
    },
    get established() {
      return seal !== undefined;
    },
    /** Bytes held of an unfinished frame. */
    get held() {
      return reader.held;
    },
    /** First messages of the client; nothing for a server. */
    open: () => (role === "client" ? [hello] : []),
    receive(chunk: Uint8Array): Step {
      const step: Step = { send: [], events: [] };
      if (over) return step;
      try {
        reader.push(chunk);
        for (;;) {
          const frame = reader.next(seal ? PROVEN_LIMIT : UNPROVEN_LIMIT);
          if (!frame) return step;
          stage = stage(frame, step);
        }
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        over = true;
        step.events.push({ kind: "violation", reason: error.message });
        return step;
      }
    },
    /** A request; a `RangeError` when it does not fit into a frame. */
    request(id: number, message: string, body: unknown): Uint8Array {
      const payload = toBytes({ id, message, body });
      if (payload.length > LARGEST_PAYLOAD)
        throw new RangeError(
          `a request of ${payload.length} bytes is over the ${LARGEST_PAYLOAD} that a frame carries`,
        );
      return seal!(FRAME.request, payload);
    },
    /** An answer; one that does not fit into a frame becomes status 413. */
    respond(id: number, status: number, body: unknown): Uint8Array {
      const payload = toBytes({ id, status, body });
      return seal!(FRAME.response, payload.length > LARGEST_PAYLOAD ? toBytes(tooLarge(id)) : payload);
    },
    ping: (): Uint8Array => seal!(FRAME.ping, NOTHING),
  };
}

const tooLarge = (id: number) => ({
  id,
  status: 413,
  body: { error: `the answer is over the ${LARGEST_PAYLOAD} bytes that a frame carries`, code: "answer_too_large" },
});

function eventOf(type: number, payload: Uint8Array): LinkEvent {
  if (type === FRAME.pong) return { kind: "pong" };
  if (type !== FRAME.request && type !== FRAME.response) throw new Violation(`there is no frame of type ${type}`);
  const { id, message, status, body } = toObject(payload);
  if (!Number.isSafeInteger(id)) throw new Violation("a message has no id");
  if (type === FRAME.request) {
    if (typeof message !== "string") throw new Violation("a request names no message");
    return { kind: "request", id: id as number, message, body };
  }
  if (!Number.isInteger(status)) throw new Violation("an answer has no status");
  return { kind: "response", id: id as number, status: status as number, body };
}
