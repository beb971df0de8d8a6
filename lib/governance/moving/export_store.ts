/** All of a store as the lines of a file. */
import { passingLog } from "../../audit/passing_log.ts";
import { copyWhole } from "../../store/move/copy_whole.ts";
import { type ExportEnd, exportWriter } from "../../store/move/export_format.ts";
import { MoveRefused } from "../../store/move/refused_move.ts";
import type { Mark } from "../../store/whole.ts";
import { moment, type MoveDeps, ofThisMachine, stateOf } from "./arrive.ts";
import { fence } from "./fence.ts";
import type { Departure } from "./migrate.ts";

/** What becomes of the store: a `backup` leaves it as it is, an `export` fences it, so that its log goes on elsewhere only. */
export interface ExportOptions {
  kind: "export" | "backup";
  /** Where the file is, as whoever meets the fence is told. */
  to: string;
  /** Makes what was given so far durable: a store is not fenced for a file that a power cut takes away. */
  durable?: () => Promise<void>;
}

/**
 * Gives the file in pieces, the last line by itself; without that it is no file. A store is fenced just before it: where the end
 * got lost after that, the same export can be made again. Errors: `MoveRefused`, `LogDoesNotHold`, `MarkChanged`.
 */
export async function* exportStore(
  { from, name }: Departure,
  { kind, to, durable }: ExportOptions,
  deps: MoveDeps = ofThisMachine(),
): AsyncGenerator<string, ExportEnd> {
  const mark = await from.mark();
  if (mark?.state === "loading") throw new MoveRefused(`${name} cannot be copied: ${stateOf(mark)}`);
  if (mark?.state === "held") throw new MoveRefused(`${name} cannot be copied now: ${stateOf(mark)}`);
  // Fenced for a file before, or moved into a store, which a backup may be made of, and no second export.
  const isFenced = mark?.state === "moved";
  if (isFenced && kind === "export" && mark.to !== to)
    throw new MoveRefused(`${name} cannot be moved: ${stateOf(mark)}`);
  // A backup is no end of a move: it takes no fence away.
  const move = isFenced && kind === "export" ? mark.move : crypto.randomUUID();
  const held: Mark = { state: "held", move, until: "" };
  const writer = exportWriter();
  const passing = passingLog(deps.sha256);
  yield writer.head({ kind, move, from: name, made_at: moment(deps) });
  const end = isFenced ? "still" : kind === "export" ? "held" : "live";
  for await (const versions of copyWhole(from, { move, end })) {
    passing.see(versions);
    yield writer.records(versions);
  }
  let isDone = end !== "held";
  try {
    const log = passing.end();
    await durable?.();
    if (end === "held") await fence(from, held, { state: "moved", move, to, at: moment(deps) });
    isDone = true;
    const told = { origin: log?.origin ?? null, length: log?.length ?? 0, head: log?.head ?? null };
    yield writer.end(told);
    return told;
  } finally {
    if (!isDone) await from.commit([], { from: held, to: undefined }).catch(() => undefined);
  }
}
