/** Stores that are moved, backed up and restored. */

const SHARED = ["test/local/moving/shared.host.test.ts"];
const BROKEN = ["test/lib/changes/moving/broken_moves.long.test.ts"];

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
    name: "a move copies its source before it is fenced",
    file: "lib/changes/moving/fence.ts",
    find: "await source.from.commit([], { from: undefined, to: mark });",
    replace: "",
    tests: BROKEN,
  },
  {
    name: "a move that has ended is given up without being forced",
    file: "lib/changes/moving/fence.ts",
    find: 'mark.state === "moved" && !force',
    replace: "false",
    tests: ["test/local/moving/files.long.test.ts"],
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
    tests: ["test/lib/changes/moving/between_stores.long.test.ts"],
  },
];
