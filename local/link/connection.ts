/** One socket with its session: time limits, questions that wait for answers, and bounds on what may pile up. */
import type { Socket } from "node:net";
import type { Clock } from "../../lib/kit/platform.ts";
import type { PeerIdentity } from "../../lib/link/handshake.ts";
import { type PeerAnswer, LinkError, type Message } from "../../lib/link/messages.ts";
import { type LinkEvent, type Role, type Session, createSession, type SessionOptions } from "../../lib/link/session.ts";
import { nodeMac } from "./node_mac.ts";
import type { Timers } from "./timers.ts";

/** Times in milliseconds, sizes in bytes. */
export const LIMITS = {
  /** From the start of the connection to the end of the handshake. */
  handshake: 5_000,
  pingEvery: 15_000,
  /** Without a whole frame for this long, the other end is taken for dead. */
  deadAfter: 45_000,
  /** Waiting for an answer. */
  answer: 5_000,
  /** Requests of one peer that are being answered at once. */
  answering: 64,
  /** Maximum number of bytes that wait for an end that does not read. */
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
  /** Once, for whatever reason; the reason is for this node's own log. */
  onClosed(connection: Connection, reason: string): void;
}

/** A connection to one peer, before and after it has proved itself. */
export interface Connection {
  readonly role: Role;
  readonly address: string;
  /** The other end has named a shared secret. */
  readonly greeted: boolean;
  readonly peer: PeerIdentity | undefined;
  /** When the last whole frame came, by the time of day, and how long the last ping took; milliseconds. */
  readonly lastSeen: number;
  readonly rtt: number | null;
  /** Asks; rejects with `LinkError` when no answer comes. */
  ask(message: Message, body: unknown): Promise<PeerAnswer>;
  /** Closes without a word to the other end. */
  close(reason: string): void;
}

interface Question {
  resolve(answered: PeerAnswer): void;
  reject(error: LinkError): void;
  forget(): void;
}

/** Takes over a socket that is connected or about to be. */
export function openConnection(options: ConnectionOptions): Connection {
  const { socket, role, address, clock, timers } = options;
  const nonce = crypto.getRandomValues(new Uint8Array(32));
  const link: Session = createSession({ role, self: options.self, keys: options.keys, nonce, mac: nodeMac });
  const questions = new Map<number, Question>();
  let peer: PeerIdentity | undefined;
  let closed = false;
  let lastSeen = clock.now();
  let heardAt = timers.now();
  let rtt: number | null = null;
  let pingedAt: number | undefined;
  let nextId = 1;
  let answering = 0;
  let corked = false;
  let cancelTimer = timers.after(LIMITS.handshake, () => close("the handshake took too long"));

  const close = (reason: string): void => {
    if (closed) return;
    closed = true;
    cancelTimer();
    socket.destroy();
    for (const question of questions.values()) {
      question.forget();
      question.reject(new LinkError("peer_unreachable", "the connection was closed"));
    }
    questions.clear();
    options.onClosed(connection, reason);
  };

  /** Sends all bytes written in one turn in one piece. */
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
    const silence = timers.now() - heardAt;
    if (silence >= LIMITS.deadAfter) return close("nothing came from the other end");
    cancelTimer = timers.after(Math.min(LIMITS.pingEvery, LIMITS.deadAfter - silence), keepAlive);
    pingedAt ??= timers.now();
    write(link.ping());
  };

  const heard = (): void => {
    lastSeen = clock.now();
    heardAt = timers.now();
  };

  const establish = (identity: PeerIdentity): void => {
    peer = identity;
    cancelTimer();
    heard();
    options.onEstablished(connection, identity);
    if (!closed) keepAlive();
  };

  const answer = async (id: number, request: { message: string; body: unknown }): Promise<void> => {
    if (answering >= LIMITS.answering)
      return write(link.respond(id, 429, { error: "too many requests at once", code: "too_many_requests" }));
    answering++;
    const { status, body } = await options.answer(peer!, request);
    answering--;
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
      return link.greeted;
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
        const settle = (): void => {
          cancel();
          questions.delete(id);
        };
        const cancel = timers.after(LIMITS.answer, () => {
          settle();
          reject(new LinkError("peer_timeout", `the peer did not answer within ${LIMITS.answer / 1000} s`));
        });
        questions.set(id, {
          resolve: (answered) => (settle(), resolve(answered)),
          reject,
          forget: cancel,
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
    if (send.length > 0 || events.some(({ kind }) => kind !== "violation")) heard();
    for (const event of events) {
      if (closed) return;
      onEvent(event);
    }
  });
  for (const bytes of link.open()) write(bytes);
  return connection;
}
