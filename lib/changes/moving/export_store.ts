/** Exports all records of a store as the lines of a file. */
import { createCopiedLogCheck } from "../../audit/copied_log.ts";
import { copyStore } from "../../store/move/copy_store.ts";
import { type ExportEnd, exportWriter } from "../../store/move/export_format.ts";
import { MoveRejected } from "../../store/move/move_rejected.ts";
import { describeMoveState } from "../../store/bulk_access.ts";
import { type MoveSource, endMove, fenceStore } from "./fence.ts";
import { formatNow, type MoveDeps, createMoveDeps } from "./load.ts";

/** A `backup` leaves the store in use; an `export` fences it, so that its log continues only elsewhere. */
export interface ExportOptions {
  kind: "export" | "backup";
  /** The file's location; the errors of the fenced store name it. */
  to: string;
}

/**
 * Yields the file in parts; a file without its last line is not loaded. Run a failed export again, or give it up with
 * `unfenceStore`. Returns the facts of the last line. Errors: `MoveRejected`, `CopiedLogInvalid`, `MoveStateConflict`.
 */
export async function* exportStore(
  source: MoveSource,
  { kind, to }: ExportOptions,
  deps: MoveDeps = createMoveDeps(),
): AsyncGenerator<string, ExportEnd> {
  const fence = kind === "export" ? await fenceStore(source, to, deps) : undefined;
  if (!fence) await requireCopyable(source);
  const writer = exportWriter();
  const verifier = createCopiedLogCheck(deps.sha256);
  const move = fence?.move ?? crypto.randomUUID();
  yield writer.head({ kind, move, from: source.name, made_at: formatNow(deps) });
  // A fenced store takes no writes, so a plain dump shows one moment; `copyStore` ensures that for a store in use.
  for await (const versions of fence ? source.from.dump() : copyStore(source.from, { move })) {
    verifier.check(versions);
    yield writer.records(versions);
  }
  const log = verifier.finish();
  const end = { origin: log?.origin ?? null, length: log?.length ?? 0, head: log?.head ?? null };
  yield writer.end(end);
  if (fence) await endMove(source, fence);
  return end;
}

/** Requires a store that can be backed up: one in use, or the source of a move. Errors: `MoveRejected`. */
async function requireCopyable({ from, name }: MoveSource): Promise<void> {
  const marker = await from.moveState();
  if (marker?.state === "loading" || marker?.state === "held")
    throw new MoveRejected(`${name} cannot be copied: ${describeMoveState(marker)}`);
}
