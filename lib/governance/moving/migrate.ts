/** Moves a store into another while it is used: copied, then held, the rest copied, fenced, and only then gone on with. */
import { type ChainHead, readHead } from "../../audit/chain.ts";
import { passingLog } from "../../audit/passing_log.ts";
import { copyWhole } from "../../store/move/copy_whole.ts";
import { MoveRefused } from "../../store/move/refused_move.ts";
import type { Version } from "../../store/version.ts";
import type { Loading, Mark, Whole } from "../../store/whole.ts";
import {
  arrive,
  type Destination,
  isEmpty,
  loading,
  moment,
  type MoveDeps,
  type Moved,
  ofThisMachine,
  requireClock,
  stateOf,
  wholeOf,
} from "./arrive.ts";
import { fence } from "./fence.ts";

/** A store that is moved away from, and its name as the log and whoever meets its fence are told it. */
export interface Departure {
  from: Whole;
  name: string;
}

/** The mark of a store that was fenced for this destination, or none. Errors: `MoveRefused` where it is not to be moved there. */
export async function requireMovable(
  { from, name }: Departure,
  destination: Pick<Destination, "name">,
): Promise<Mark | undefined> {
  const mark = await from.mark();
  if (!mark || (mark.state === "moved" && mark.to === destination.name)) return mark;
  throw new MoveRefused(`${name} cannot be moved${mark.state === "moved" ? "" : " now"}: ${stateOf(mark)}`);
}

/**
 * Moves all of a store into an empty one. Until the source is fenced an error leaves both as they were; from then on the same
 * call again, under the same names, ends the move, also where the destination lost all by then. Errors: `MoveRefused`,
 * `LogDoesNotHold`, `MarkChanged`, `FenceUnknown`; those of the stores.
 */
export async function migrate(
  source: Departure,
  destination: Destination,
  deps: MoveDeps = ofThisMachine(),
): Promise<Moved> {
  const journey = { how: "migrate", from: source.name } as const;
  const whole = wholeOf(destination);
  const [away, half] = [await requireMovable(source, destination), await whole.mark()];
  if (away) {
    if (half?.state === "loading" && half.move === away.move) {
      const log = await readHead(destination.to);
      await arrive(destination, journey, half, deps);
      return { log };
    }
    if (!half && !(await isEmpty(whole))) throw new MoveRefused(`${source.name} cannot be moved: ${stateOf(away)}`);
  }

  // Not the move that fenced the source, where one has: what is half loaded is never taken for that one's.
  const move = crypto.randomUUID();
  const held: Mark = { state: "held", move, until: "" };
  const moved: Mark = { state: "moved", move, to: destination.name, at: moment(deps) };
  const loaded: Loading = { state: "loading", move, from: source.name, at: moved.at };
  const load = async (keep: (versions: readonly Version[]) => Promise<void>): Promise<ChainHead | undefined> => {
    const passing = passingLog(deps.sha256);
    for await (const versions of copyWhole(source.from, { move, end: away ? "still" : "held" })) {
      passing.see(versions);
      await keep(versions);
    }
    try {
      const end = passing.end();
      requireClock(end, deps);
      // Whoever took the destination over meanwhile is found out before the fence.
      await keep([]);
      if (!away) await fence(source.from, held, moved);
      return end;
    } catch (error) {
      await source.from.commit([], { from: held, to: undefined }).catch(() => undefined);
      throw error;
    }
  };
  const log = await loading(destination, loaded, load, deps);
  await arrive(destination, journey, loaded, deps);
  return { log };
}
