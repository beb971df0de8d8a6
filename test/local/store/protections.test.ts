/** Each protection against a crash is taken away once: the lives that hold with it must not hold without it. */
import { expect, test } from "vitest";
import type { Files } from "../../../local/store/files.ts";
import { rounds } from "../../support/length.ts";
import { crash, everyCall, type Faults } from "./life.ts";

const oneFails: Faults["fails"] = (call, tried) => call === tried;

/** A sync that is made later than it is answered. */
const answersFirst = (files: Files): Files => {
  let last = Promise.resolve();
  return {
    ...files,
    async sync(fd) {
      await last;
      last = new Promise<void>((resolve) => setImmediate(resolve)).then(() => files.sync(fd)).catch(() => undefined);
    },
  };
};

const REMOVED: [string, (files: Files) => Files, Omit<Faults, "between">][] = [
  ["no content is synced", (files) => ({ ...files, sync: async () => undefined }), crash("everything")],
  ["no folder is synced", (files) => ({ ...files, syncFolder: async () => undefined }), crash("everything")],
  ["it answers before the sync", answersFirst, crash("everything")],
  [
    "a failed sync is tried again",
    (files) => ({ ...files, sync: (fd) => files.sync(fd).catch(() => files.sync(fd)) }),
    { fails: oneFails, loss: "everything" },
  ],
];

test.each(rounds(REMOVED.slice(0, 1), REMOVED.slice(1, 2), REMOVED))(
  "noticed: %s",
  async (_what, between, faults) => {
    await expect(everyCall({ ...faults, between })).rejects.toThrow(/with a fault at call/);
  },
  180_000,
);
