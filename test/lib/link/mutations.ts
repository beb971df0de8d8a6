/** Streams of frames as a faulty or hostile end may send them. */
import { concatBytes } from "@noble/hashes/utils.js";
import { makeFrame } from "../../../lib/link/frames.ts";

/** A whole number of 0 or more, below `below`. */
export type Random = (below: number) => number;

/** Numbers that a seed repeats (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000) * below);
  };
}

const joined = (parts: readonly Uint8Array[]): Uint8Array => concatBytes(...parts);

/** Makes the function that turns the frames that would be right into a stream that is not, or not quite. */
export function mutator(random: Random): (frames: Uint8Array[]) => Uint8Array {
  const randomBytes = (length: number) => Uint8Array.from({ length }, () => random(256));

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

  const mutations: ((frames: Uint8Array[]) => Uint8Array)[] = [
    (frames) => changed(joined(frames), 1),
    (frames) => changed(joined(frames), 1 + random(20)),
    (frames) => joined([frames[0]!, ...frames]),
    (frames) => joined(frames.slice(1)),
    (frames) => joined([...frames].reverse()),
    (frames) => joined([randomBytes(random(40)), ...frames]),
    (frames) => joined([...frames, randomBytes(random(2000))]),
    (frames) => joined([makeFrame(random(256), randomBytes(random(1200))), ...frames]),
    (frames) => joined(frames).slice(0, random(joined(frames).length)),
    (frames) => without(joined(frames)),
    (frames) => joined([frames[0]!, makeFrame(1 + random(7), randomBytes(random(100))), ...frames.slice(1)]),
    () => randomBytes(random(3000)),
    (frames) => lengthened(joined(frames)),
  ];
  return (frames) => mutations[random(mutations.length)]!(frames);
}
