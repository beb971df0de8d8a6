import { memoryStore } from "countersign/stores/memory";
import { exportStore, importStore, splitLines } from "countersign/stores/moving";

const store = memoryStore();
let file = "";
for await (const piece of exportStore({ from: store.bulk!, name: "the shop" }, { kind: "backup", to: "a file" }))
  file += piece;

const other = memoryStore();
const lines = () => splitLines(new Blob([file]).stream()); // it is read twice: checked, then loaded
await importStore({ name: "a file", lines }, "restore", { to: other, name: "the drill", actor: "ana" });
