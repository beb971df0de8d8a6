/** Removes each protection against a crash once; without the protection, the crash scenario must fail. */
import { expect, test } from "vitest";
import type { Files } from "../../../local/store/files.ts";
import { rounds } from "../../support/run_length.ts";
import { crashLosing, runWithFaultAtEachCall, type Faults } from "./crash_scenario.ts";

/** Only the call at which the fault occurs fails; later ones succeed. */
const failsOnce: Faults["fails"] = (call, faultAt) => call === faultAt;

/** Returns a file layer that reports a sync as done before it has ended. */
const acknowledgeBeforeSync = (files: Files): Files => {
  let last = Promise.resolve();
  return {
    ...files,
    async sync(fd) {
      await last;
      last = new Promise<void>((resolve) => setImmediate(resolve)).then(() => files.sync(fd)).catch(() => undefined);
    },
  };
};

const REMOVED: [removal: string, wrapFiles: (files: Files) => Files, faults: Omit<Faults, "wrapFiles">][] = [
  ["no content is synced", (files) => ({ ...files, sync: async () => undefined }), crashLosing("everything")],
  ["no folder is synced", (files) => ({ ...files, syncFolder: async () => undefined }), crashLosing("everything")],
  ["commits are acknowledged before the sync", acknowledgeBeforeSync, crashLosing("everything")],
  [
    "a failed sync is tried again",
    (files) => ({ ...files, sync: (fd) => files.sync(fd).catch(() => files.sync(fd)) }),
    { fails: failsOnce, loss: "everything" },
  ],
];

test.each(rounds(REMOVED.slice(0, 1), REMOVED.slice(1, 2), REMOVED))(
  "acknowledged data is lost if %s",
  async (_removal, wrapFiles, faults) => {
    // The scenario names the call after whose fault the stored data were wrong.
    await expect(runWithFaultAtEachCall({ ...faults, wrapFiles })).rejects.toThrow(/with a fault at call/);
  },
  180_000,
);
