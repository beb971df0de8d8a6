/** Backups and moves of stores from within an application, as the command line makes them: for stores that have no address. */
export { linesOf } from "../../store/move/lines.ts";
export { MoveRefused } from "../../store/move/refused_move.ts";
export { exportStore } from "./export_store.ts";
export { importStore } from "./import_store.ts";
export { migrate } from "./migrate.ts";
