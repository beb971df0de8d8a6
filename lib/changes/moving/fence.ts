/** The source of a move: fenced before anything is copied, so that its log goes on in one place only. */
import { MoveRefused } from "../../store/move/refused_move.ts";
import { describeMark, type Mark, type Whole } from "../../store/whole.ts";
import { formatNow, type MoveDeps } from "./load.ts";

/** A store that is copied or moved: its name as the log and the errors of a fenced store show it, without a password. */
export interface Departure {
  from: Whole;
  name: string;
}

/** The mark of a fenced store. */
export type Fenced = Extract<Mark, { state: "moving" | "moved" }>;

/** Returns the mark of a store that is fenced for this destination, undefined without one. Errors: `MoveRefused`. */
export async function readFence({ from, name }: Departure, to: string): Promise<Fenced | undefined> {
  const mark = await from.mark();
  if (!mark) return undefined;
  if ((mark.state === "moving" || mark.state === "moved") && mark.to === to) return mark;
  throw new MoveRefused(`${name} cannot be moved: ${describeMark(mark)}`);
}

/** Fences a store for a destination; from then on it takes no writes. A repeated move finds its fence. Errors: `MoveRefused`. */
export async function fenceStore(source: Departure, to: string, deps: MoveDeps): Promise<Fenced> {
  const found = await readFence(source, to);
  if (found) return found;
  const mark: Fenced = { state: "moving", move: crypto.randomUUID(), to, at: formatNow(deps) };
  await source.from.commit([], { from: undefined, to: mark });
  return mark;
}

/** Records that the move of a fenced store has ended: its log goes on elsewhere. */
export async function endMove({ from }: Departure, mark: Fenced): Promise<void> {
  if (mark.state === "moving") await from.commit([], { from: mark, to: { ...mark, state: "moved" } });
}

/**
 * Gives up a move that has not ended: the store takes writes again. With `force` also one that has ended, for a copy that was
 * lost before it was used. Errors: `MoveRefused`.
 */
export async function unfenceStore({ from, name }: Departure, { force = false } = {}): Promise<Fenced> {
  const mark = await from.mark();
  if (mark?.state !== "moving" && mark?.state !== "moved") throw new MoveRefused(`${name} is not fenced`);
  if (mark.state === "moved" && !force)
    throw new MoveRefused(
      `${describeMark(mark)}: two stores would go on with one log. If ${mark.to} is lost and was never used, add --force`,
    );
  await from.commit([], { from: mark, to: undefined });
  return mark;
}
