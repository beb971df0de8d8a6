/** Compares a store with a model through random transactions, restarts, power cuts and compactions. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { sequenceId } from "../../../lib/store/collections.ts";
import { type Files, nodeFiles } from "../../../local/store/files.ts";
import { rounds } from "../../support/run_length.ts";
import { applyWrites, type Content, readContent, storedRecords, addWrites, seededRandom, type Write } from "./model.ts";
import { openTestStore, temporaryFolder } from "./open_test_store.ts";
import { simulatedDisk } from "./simulated_disk.ts";

const COLLECTIONS = ["audit", "things", "meta", 'é \t"collection"'];

interface RandomRun {
  seed: number;
  steps: number;
  state: string;
  files: Files;
  /** Cuts the power, after which all unsynced data is lost; absent on real files. */
  crash?: () => void;
}

/** Takes random steps with a store and a model, and compares the two every 40 steps. */
async function runRandomSteps({ seed, steps, state, files, crash }: RandomRun): Promise<void> {
  const random = seededRandom(seed);
  const randomBelow = (count: number): number => Math.floor(random() * count);
  const open = () => openTestStore(state, { files, segmentBytes: 3000 + randomBelow(5000) });
  let store = await open();
  let content: Content = {};
  let entries = 0;

  const randomId = (): string =>
    random() < 0.8 ? `id-${randomBelow(30)}` : `${'é\t"\\🙂'.slice(0, randomBelow(5))}${randomBelow(5)}`;
  const randomWrites = (): Write[] =>
    Array.from({ length: 1 + randomBelow(6) }, () => {
      const collection = COLLECTIONS[randomBelow(4)]!;
      if (collection === "audit") return { collection, id: sequenceId(++entries), value: "x".repeat(randomBelow(300)) };
      const id = randomId();
      return random() < 0.3
        ? { collection, id }
        : { collection, id, value: { n: randomBelow(1000), text: "é".repeat(randomBelow(100)) } };
    });

  for (let step = 1; step <= steps; step++) {
    const action = random();
    if (action < 0.9) {
      const group = Array.from({ length: 1 + randomBelow(4) }, randomWrites);
      await Promise.all(group.map((writes) => store.transact((tx) => addWrites(tx, writes))));
      for (const writes of group) content = applyWrites(content, writes);
    } else if (action < 0.93) {
      const conflicting = store.transact((tx) => {
        tx.put("things", "never", 1);
        tx.delete("meta", "id-1");
        // No record has revision 99, so the complete transaction must be without effect.
        tx.put("things", "x", 1, 99);
      });
      await expect(conflicting).rejects.toThrow("expected revision 99");
    } else if (action < 0.96) await store.compact();
    else {
      if (crash && random() < 0.5) crash();
      else await store.close();
      // A start without the state file builds its content again from the journal.
      if (random() < 0.3) await files.remove(state);
      store = await open();
    }
    if (step % 40 === 0) expect(await readContent(store, COLLECTIONS)).toEqual(storedRecords(content));
  }
  await store.close();
}

test.each(
  rounds(
    [[120, 1]],
    [[400, 2]],
    [1, 2, 3, 4, 5].map((seed) => [400, seed]),
  ),
)(
  "a store and a model agree over %i random steps (seed %i)",
  async (steps, seed) => {
    const disk = simulatedDisk();
    await runRandomSteps({
      seed,
      steps,
      state: "/data/state.json",
      files: disk.files,
      crash: () => disk.crash("everything"),
    });
  },
  30_000,
);

test("store and model agree on real files", async () => {
  await runRandomSteps({ seed: 6, steps: 80, state: join(await temporaryFolder(), "state.json"), files: nodeFiles });
}, 120_000);
