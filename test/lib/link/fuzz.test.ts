/**
 * Random and mutated frames against both ends in every state. `LINK_FUZZ_FRAMES=100000` runs the long form, and
 * `LINK_FUZZ_SEED` repeats a run.
 */
import { expect, test } from "vitest";
import { MAX_PROVEN_BYTES, MAX_UNPROVEN_BYTES } from "../../../lib/link/frames.ts";
import type { LinkEvent, Role, Session } from "../../../lib/link/session.ts";
import { LONG } from "../../support/run_length.ts";
import { end, shake } from "./ends.ts";
import { mutator, seededRandom } from "./mutations.ts";

const FRAMES = Number(process.env["LINK_FUZZ_FRAMES"] ?? (LONG ? 5_000 : 1_000));
const SEED = Number(process.env["LINK_FUZZ_SEED"] ?? Date.now() % 1_000_000);

const random = seededRandom(SEED);
const mutated = mutator(random);

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
  if (random(2) === 0) return { end: subject, frames, events, limit: MAX_UNPROVEN_BYTES };
  subject.receive(frames[0]!);
  return { end: subject, frames: frames.slice(1), events, limit: MAX_UNPROVEN_BYTES };
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
    limit: MAX_PROVEN_BYTES,
  };
}

const name = `whatever comes in, nothing comes out but what the peer said, in its order (${FRAMES} frames, seed ${SEED})`;
test(name, { timeout: 600_000 }, () => {
  const roles: Role[] = ["client", "server"];
  let violations = 0;
  for (let frames = 0; frames < FRAMES;) {
    const role = roles[random(2)]!;
    const subject = random(3) === 0 ? handshaking(role) : inSession(role);
    frames += subject.frames.length;
    const stream = mutated(subject.frames);
    const events: LinkEvent[] = [];
    for (let at = 0; at < stream.length;) {
      const size = 1 + random(random(2) === 0 ? 5 : 4000);
      events.push(...subject.end.receive(stream.slice(at, at + size)).events);
      at += size;
      const limit = subject.end.established ? MAX_PROVEN_BYTES : subject.limit;
      expect(subject.end.buffered).toBeLessThanOrEqual(limit + 4);
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
