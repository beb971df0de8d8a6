/** Stores that are moved, backed up and restored. */

const SHARED = ["test/local/moving/shared.test.ts"];
const BROKEN = ["test/lib/governance/moving/broken_moves.test.ts"];

export const moving = [
  {
    name: "what is written while a store is copied stays behind",
    file: "lib/store/move/copy_whole.ts",
    find: "    yield* second(source, copied, renew);\n",
    replace: "    copied.revisions.clear();\n",
    tests: SHARED,
  },
  {
    name: "a process that runs on a store goes on writing when it has moved",
    file: "lib/store/engine/shared_whole.ts",
    find: "      heed(version);\n",
    replace: "",
    tests: SHARED,
  },
  {
    name: "a move that fails in the end leaves its source held",
    file: "lib/governance/moving/migrate.ts",
    find: "await source.from.commit([], { from: held, to: undefined }).catch(() => undefined);",
    replace: "",
    tests: BROKEN,
  },
  {
    name: "who loads a store keeps on in it while another takes out what was loaded",
    file: "lib/store/engine/mark.ts",
    find: "  const move = crypto.randomUUID();\n",
    replace: "  const { move } = loading;\n",
    tests: BROKEN,
  },
  {
    name: "a revision comes twice after a move",
    file: "lib/store/engine/floors.ts",
    find: "floor === 0",
    replace: "floor >= 0",
    tests: ["test/lib/governance/moving/between_stores.test.ts"],
  },
];
