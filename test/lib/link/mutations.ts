/** Mutates streams of frames, as a faulty or hostile peer may send them. */
import { concatBytes } from "@noble/hashes/utils.js";
import { makeFrame } from "../../../lib/link/frames.ts";

/** Returns a random whole number from 0 to `limit - 1`. */
export type Random = (limit: number) => number;

/** Returns pseudo-random numbers, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000) * limit);
  };
}

const join = (parts: readonly Uint8Array[]): Uint8Array => concatBytes(...parts);

/** Returns a function that joins valid frames to a stream with a random mutation. */
export function mutator(random: Random): (frames: Uint8Array[]) => Uint8Array {
  const randomBytes = (length: number) => Uint8Array.from({ length }, () => random(256));

  function changeBytes(bytes: Uint8Array, times: number): Uint8Array {
    for (let i = 0; i < times && bytes.length > 0; i++) bytes[random(bytes.length)]! ^= 1 + random(255);
    return bytes;
  }

  function removeBytes(bytes: Uint8Array): Uint8Array {
    const at = random(bytes.length);
    return join([bytes.slice(0, at), bytes.slice(at + 1 + random(30))]);
  }

  /** Changes the length of the first frame. */
  function changeLength(bytes: Uint8Array): Uint8Array {
    new DataView(bytes.buffer).setUint32(0, random(0x1_0000_0000));
    return bytes;
  }

  const mutations: ((frames: Uint8Array[]) => Uint8Array)[] = [
    (frames) => changeBytes(join(frames), 1),
    (frames) => changeBytes(join(frames), 1 + random(20)),
    (frames) => join([frames[0]!, ...frames]),
    (frames) => join(frames.slice(1)),
    (frames) => join([...frames].reverse()),
    (frames) => join([randomBytes(random(40)), ...frames]),
    (frames) => join([...frames, randomBytes(random(2000))]),
    (frames) => join([makeFrame(random(256), randomBytes(random(1200))), ...frames]),
    (frames) => join(frames).slice(0, random(join(frames).length)),
    (frames) => removeBytes(join(frames)),
    (frames) => join([frames[0]!, makeFrame(1 + random(7), randomBytes(random(100))), ...frames.slice(1)]),
    () => randomBytes(random(3000)),
    (frames) => changeLength(join(frames)),
  ];
  return (frames) => mutations[random(mutations.length)]!(frames);
}
