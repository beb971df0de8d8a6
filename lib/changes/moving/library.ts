/** Backups and moves of stores from within an application: for stores that have no address, such as a Durable Object's. */
export { splitLines } from "../../store/move/lines.ts";
export { MoveRejected } from "../../store/move/move_rejected.ts";
export { unfenceStore } from "./fence.ts";
export { exportStore } from "./export_store.ts";
export { importStore } from "./import_store.ts";
export { migrate } from "./migrate.ts";
