/** Measures sequential proposals relative to the time that the disk needs to store the bytes of one. */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { followUp, load, median } from "./load.mjs";
import { startService, stop, temporaryFolder } from "./programs.mjs";

const COUNT = 300;
/** About as many bytes as the service writes for a proposal. */
const BYTES = Buffer.alloc(2048, "x");

/** Returns both medians in milliseconds; writes and proposals alternate, so that changes of the disk affect both. */
export async function oneConnection({ warmUp, rounds }) {
  const folder = await temporaryFolder();
  const service = await startService(folder);
  const proposals = (count, connections) =>
    load({ port: service.port, count, connections, request: () => followUp, expected: 201 });
  await proposals(warmUp, 64);
  const pairs = [];
  for (let round = 0; round < rounds; round++)
    pairs.push({ sync: await syncTime(join(folder, "sync")), proposal: (await proposals(COUNT, 1)).p50 });
  await stop(service);
  return {
    proposal: median(pairs.map(({ proposal }) => proposal)),
    sync: median(pairs.map(({ sync }) => sync)),
    ratio: median(pairs.map(({ proposal, sync }) => proposal / sync)),
  };
}

/** Returns the median time of an append with `fdatasync`. */
async function syncTime(path) {
  const file = await open(path, "w");
  const times = [];
  for (let n = 0; n < COUNT; n++) {
    const began = performance.now();
    await file.write(BYTES);
    await file.datasync();
    times.push(performance.now() - began);
  }
  await file.close();
  return median(times);
}
