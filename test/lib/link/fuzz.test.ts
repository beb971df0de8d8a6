/**
 * Random and mutated frames against both ends in every state. `LINK_FUZZ_FRAMES=100000` runs the long form, and
 * `LINK_FUZZ_SEED` repeats a run.
 */
import { concatBytes } from "@noble/hashes/utils.js";
import { expect, test } from "vitest";
import { frameOf, PROVEN_LIMIT, UNPROVEN_LIMIT } from "../../../lib/link/frames.ts";
import type { LinkEvent, Role, Session } from "../../../lib/link/session.ts";
import { end, shake } from "./ends.ts";

const FRAMES = Number(process.env["LINK_FUZZ_FRAMES"] ?? 10_000);
const SEED = Number(process.env["LINK_FUZZ_SEED"] ?? Date.now() % 1_000_000);

/** Numbers that a seed repeats (mulberry32). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000) * below);
  };
}

const random = randomFrom(SEED);
const randomBytes = (length: number) => Uint8Array.from({ length }, () => random(256));
const joined = (parts: readonly Uint8Array[]): Uint8Array => concatBytes(...parts);

/** An end in some state, the frames that would be right now, and the events that those would bring. */
interface Situation {
  end: Session;
  frames: Uint8Array[];
  events: LinkEvent[];
  limit: number;
}

function handshaking(role: Role): Situation {
  const passed = shake(end("client"), end("server"));
  const subject = end(role);
  subject.open();
  const frames = passed.frames.filter(({ from }) => from !== role).map(({ bytes }) => bytes);
  const events = passed[role];
  if (random(2) === 0) return { end: subject, frames, events, limit: UNPROVEN_LIMIT };
  subject.receive(frames[0]!);
  return { end: subject, frames: frames.slice(1), events, limit: UNPROVEN_LIMIT };
}

function inSession(role: Role): Situation {
  const ends = { client: end("client"), server: end("server") };
  shake(ends.client, ends.server);
  const other = role === "client" ? ends.server : ends.client;
  const body = { path: "x".repeat(random(random(10) === 0 ? 20_000 : 200)) };
  return {
    end: ends[role],
    frames: [other.request(1, "query", body), other.ping(), other.respond(7, 200, body)],
    events: [
      { kind: "request", id: 1, message: "query", body },
      { kind: "response", id: 7, status: 200, body },
    ],
    limit: PROVEN_LIMIT,
  };
}

const MUTATIONS: ((frames: Uint8Array[]) => Uint8Array)[] = [
  (frames) => changed(joined(frames), 1),
  (frames) => changed(joined(frames), 1 + random(20)),
  (frames) => joined([frames[0]!, ...frames]),
  (frames) => joined(frames.slice(1)),
  (frames) => joined([...frames].reverse()),
  (frames) => joined([randomBytes(random(40)), ...frames]),
  (frames) => joined([...frames, randomBytes(random(2000))]),
  (frames) => joined([frameOf(random(256), randomBytes(random(1200))), ...frames]),
  (frames) => joined(frames).slice(0, random(joined(frames).length)),
  (frames) => without(joined(frames)),
  (frames) => joined([frames[0]!, frameOf(1 + random(7), randomBytes(random(100))), ...frames.slice(1)]),
  () => randomBytes(random(3000)),
  (frames) => lengthened(joined(frames)),
];

function changed(bytes: Uint8Array, times: number): Uint8Array {
  for (let i = 0; i < times && bytes.length > 0; i++) bytes[random(bytes.length)]! ^= 1 + random(255);
  return bytes;
}

function without(bytes: Uint8Array): Uint8Array {
  const at = random(bytes.length);
  return joined([bytes.slice(0, at), bytes.slice(at + 1 + random(30))]);
}

function lengthened(bytes: Uint8Array): Uint8Array {
  new DataView(bytes.buffer).setUint32(0, random(0x1_0000_0000));
  return bytes;
}

test(`whatever comes in, nothing comes out but what the peer said, in its order (${FRAMES} frames, seed ${SEED})`, () => {
  const roles: Role[] = ["client", "server"];
  let violations = 0;
  for (let frames = 0; frames < FRAMES;) {
    const role = roles[random(2)]!;
    const subject = random(3) === 0 ? handshaking(role) : inSession(role);
    frames += subject.frames.length;
    const stream = MUTATIONS[random(MUTATIONS.length)]!(subject.frames);
    const events: LinkEvent[] = [];
    for (let at = 0; at < stream.length;) {
      const size = 1 + random(random(2) === 0 ? 5 : 4000);
      events.push(...subject.end.receive(stream.slice(at, at + size)).events);
      at += size;
      const limit = subject.end.established ? PROVEN_LIMIT : subject.limit;
      expect(subject.end.held).toBeLessThanOrEqual(limit + 4);
    }
    const last = events.at(-1);
    const ended = last?.kind === "violation";
    if (ended) violations++;
    const said = ended ? events.slice(0, -1) : events;
    expect(said).toEqual(subject.events.slice(0, said.length));
    if (ended) expect(subject.end.receive(stream)).toEqual({ send: [], events: [] });
  }
  expect(violations).toBeGreaterThan(FRAMES / 10);
});
