/** Runs one connection to a peer: its session, time limits, pending questions, and limits on buffered data. */
import type { Socket } from "node:net";
import type { Clock } from "../../lib/kit/platform.ts";
import type { PeerIdentity } from "../../lib/link/handshake.ts";
import { type PeerAnswer, LinkError, type Message } from "../../lib/link/messages.ts";
import { type LinkEvent, type Role, type Session, createSession, type SessionOptions } from "../../lib/link/session.ts";
import { nodeMac } from "./node_mac.ts";
import type { Timers } from "./timers.ts";

/** Times in milliseconds, sizes in bytes. */
export const LIMITS = {
  /** Time from connecting to the end of the handshake. */
  handshake: 5_000,
  pingEvery: 15_000,
  /** Time without a complete frame after which the connection is closed. */
  deadAfter: 45_000,
  /** Time for an answer. */
  answer: 5_000,
  /** Maximum number of concurrent requests of one peer. */
  answering: 64,
  /** Bytes that may be buffered for a peer that does not read. */
  unsent: 4 * 1024 * 1024,
} as const;

/** Parts of a connection, and its listeners. */
export interface ConnectionOptions extends Omit<SessionOptions, "nonce" | "mac"> {
  socket: Socket;
  address: string;
  clock: Clock;
  timers: Timers;
  answer(peer: PeerIdentity, request: { message: string; body: unknown }): Promise<PeerAnswer>;
  onEstablished(connection: Connection, peer: PeerIdentity): void;
  /** Called once; the reason is for this node's own log. */
  onClosed(connection: Connection, reason: string): void;
}

/** A connection to a peer, before and after its authentication. */
export interface Connection {
  readonly role: Role;
  readonly address: string;
  /** True after the other end named a shared secret. */
  readonly greeted: boolean;
  readonly peer: PeerIdentity | undefined;
  /** Time of the last complete frame (ms since 1970), and duration of the last ping (ms). */
  readonly lastSeen: number;
  readonly rtt: number | null;
  /** Asks the peer. Errors: `LinkError` where it does not answer. */
  ask(message: Message, body: unknown): Promise<PeerAnswer>;
  /** Closes; the reason is not sent. */
  close(reason: string): void;
}

interface Question {
  resolve(answered: PeerAnswer): void;
  reject(error: LinkError): void;
  cancelTimeout(): void;
}

/** Opens a connection on a socket that is connected or connecting. */
export function openConnection(options: ConnectionOptions): Connection {
  const { socket, role, address, clock, timers } = options;
  const nonce = crypto.getRandomValues(new Uint8Array(32));
  const link: Session = createSession({ role, self: options.self, keys: options.keys, nonce, mac: nodeMac });
  const questions = new Map<number, Question>();
  let peer: PeerIdentity | undefined;
  let closed = false;
  let lastSeen = clock.now();
  let lastFrameAt = timers.now();
  let rtt: number | null = null;
  let pingedAt: number | undefined;
  let nextId = 1;
  let answersUnderWay = 0;
  let corked = false;
  let cancelTimer = timers.after(LIMITS.handshake, () => close("the handshake took too long"));

  const close = (reason: string): void => {
    if (closed) return;
    closed = true;
    cancelTimer();
    socket.destroy();
    for (const question of questions.values()) {
      question.cancelTimeout();
      question.reject(new LinkError("peer_unreachable", "the connection was closed"));
    }
    questions.clear();
    options.onClosed(connection, reason);
  };

  /** Sends all bytes of one turn of the event loop in one packet. */
  const write = (bytes: Uint8Array): void => {
    if (closed) return;
    if (!corked) {
      corked = true;
      socket.cork();
      process.nextTick(() => {
        corked = false;
        socket.uncork();
      });
    }
    socket.write(bytes);
    if (socket.writableLength > LIMITS.unsent) close("the other end does not read what it is sent");
  };

  const keepAlive = (): void => {
    const silence = timers.now() - lastFrameAt;
    if (silence >= LIMITS.deadAfter) return close("nothing came from the other end");
    cancelTimer = timers.after(Math.min(LIMITS.pingEvery, LIMITS.deadAfter - silence), keepAlive);
    // Without a pong, the time of the first ping stays.
    pingedAt ??= timers.now();
    write(link.ping());
  };

  const recordFrame = (): void => {
    lastSeen = clock.now();
    lastFrameAt = timers.now();
  };

  const establish = (identity: PeerIdentity): void => {
    peer = identity;
    cancelTimer();
    recordFrame();
    options.onEstablished(connection, identity);
    if (!closed) keepAlive();
  };

  const answer = async (id: number, request: { message: string; body: unknown }): Promise<void> => {
    if (answersUnderWay >= LIMITS.answering)
      return write(link.respond(id, 429, { error: "too many requests at once", code: "too_many_requests" }));
    answersUnderWay++;
    const { status, body } = await options.answer(peer!, request);
    answersUnderWay--;
    if (!closed) write(link.respond(id, status, body));
  };

  const onEvent = (event: LinkEvent): void => {
    switch (event.kind) {
      case "established":
        return establish(event.peer);
      case "request":
        return void answer(event.id, event);
      case "response":
        return questions.get(event.id)?.resolve({ status: event.status, body: event.body });
      case "pong":
        if (pingedAt !== undefined) rtt = Math.round((timers.now() - pingedAt) * 1000) / 1000;
        pingedAt = undefined;
        return;
      case "violation":
        return close(event.reason);
    }
  };

  const connection: Connection = {
    role,
    address,
    get greeted() {
      return link.hasKnownSecret;
    },
    get peer() {
      return peer;
    },
    get lastSeen() {
      return lastSeen;
    },
    get rtt() {
      return rtt;
    },
    ask: (message, body) =>
      new Promise<PeerAnswer>((resolve, reject) => {
        if (closed || !peer) return reject(new LinkError("peer_unreachable", "the connection is closed"));
        const id = nextId++;
        const bytes = link.request(id, message, body);
        const finish = (): void => {
          cancel();
          questions.delete(id);
        };
        const cancel = timers.after(LIMITS.answer, () => {
          finish();
          reject(new LinkError("peer_timeout", `the peer did not answer within ${LIMITS.answer / 1000} s`));
        });
        questions.set(id, {
          resolve: (answered) => {
            finish();
            resolve(answered);
          },
          reject,
          cancelTimeout: cancel,
        });
        write(bytes);
      }),
    close,
  };

  socket.setNoDelay(true);
  socket.on("error", (error: NodeJS.ErrnoException) => close(error.code ?? error.message));
  socket.on("close", () =>
    close(peer ? "the other end closed the connection" : "the other end ended the handshake: do the secrets agree?"),
  );
  socket.on("data", (chunk: Uint8Array) => {
    if (closed) return;
    const { send, events } = link.receive(chunk);
    for (const bytes of send) write(bytes);
    // A complete frame causes an answer or an event; a part of a frame or a violation is no sign of life.
    if (send.length > 0 || events.some(({ kind }) => kind !== "violation")) recordFrame();
    for (const event of events) {
      if (closed) return;
      onEvent(event);
    }
  });
  for (const bytes of link.open()) write(bytes);
  return connection;
}
