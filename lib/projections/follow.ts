/** Keeps all followers up with the log. One that fails is told of and stops nothing else. */
import { readCurrentHead } from "../audit/chain.ts";
import { type CommitSignal, createCommitSignal } from "../kit/commit_signal.ts";
import type { Store } from "../store/store.ts";
import { beginning, beginRound, catchUp, type Followed, type Round } from "./catch_up.ts";
import { cursorOf, type FollowDeps, type Follower } from "./follower.ts";
import { growth } from "./growth.ts";
import { memories } from "./memories.ts";
import { outcomes } from "./outcomes.ts";
import { tally } from "./tally.ts";
import { values } from "./values.ts";
import { waiting } from "./waiting.ts";

/** All followers. */
export const FOLLOWERS: readonly Follower[] = [waiting, tally, growth, memories, outcomes, values];

const problems = new WeakMap<Store, Map<string, string>>();

/** Why a follower failed in this process the last time it was run; `null` when it did not. */
export const problemOf = ({ store }: Pick<FollowDeps, "store">, { name }: Follower): string | null =>
  problems.get(store)?.get(name) ?? null;

/** How a follower stands: how many entries it has not stored yet, and why it fails where it does. */
export async function standingOf(
  deps: FollowDeps,
  follower: Follower,
): Promise<{ behind: number; problem: string | null }> {
  try {
    const [head, cursor] = await Promise.all([readCurrentHead(deps), cursorOf(deps, follower.name)]);
    const behind = (head?.length ?? 0) - (cursor?.value.entry ?? 0);
    return { behind, problem: problemOf(deps, follower) };
  } catch (error) {
    return { behind: 0, problem: String(error) };
  }
}

/**
 * Brings all followers up to the log's end, or as far as `proceed` lets them; never rejects. False where another process
 * was faster at one. They go in rounds, so that none that has much to do keeps the others from what came meanwhile.
 */
export async function followAll(deps: FollowDeps, proceed: () => boolean = () => true): Promise<boolean> {
  const left = new Set<Follower>();
  for (;;) {
    const followed = await followRound(deps, proceed, left);
    for (const [follower, how] of followed) if (how === "overtaken") left.add(follower);
    if (!followed.some(([, how]) => how === "more") || !proceed()) return left.size === 0;
  }
}

/** What one has read of the log serves all. `left`: those that are left to another process. */
async function followRound(
  deps: FollowDeps,
  proceed: () => boolean,
  left: ReadonlySet<Follower>,
): Promise<readonly (readonly [Follower, Followed])[]> {
  const round = beginRound(deps, proceed);
  const behind = await round.then((begun) => thoseBehind(deps, begun)).catch(() => FOLLOWERS);
  const ours = behind.filter((follower) => !left.has(follower));
  return Promise.all(ours.map(async (follower) => [follower, await followOne(deps, follower, round)] as const));
}

/** Those that have entries to follow, or time to see go by, or failed. */
async function thoseBehind(deps: FollowDeps, { head }: Round): Promise<readonly Follower[]> {
  const cursors = await cursorsIn(deps.store);
  return FOLLOWERS.filter((follower, index) => {
    const { entry, step, clearing, version } = cursors[index]?.value ?? {};
    const isUp = entry === head && step === "" && !clearing && version === follower.version;
    return !isUp || follower.elapse !== undefined || problemOf(deps, follower) !== null;
  });
}

const cursorsIn = ({ getMany }: Store) =>
  getMany(
    "cursors",
    FOLLOWERS.map(({ name }) => name),
  );

async function followOne(deps: FollowDeps, follower: Follower, round: Promise<Round>): Promise<Followed> {
  let failing = problems.get(deps.store);
  if (!failing) problems.set(deps.store, (failing = new Map()));
  try {
    const followed = await catchUp(deps, follower, await round);
    failing.delete(follower.name);
    return followed;
  } catch (error) {
    if (!failing.has(follower.name))
      deps.log.warn("a follower of the log failed", { follower: follower.name, error: String(error) });
    failing.set(follower.name, String(error));
    return "done";
  }
}

/** Builds what followers keep anew from the first entry on, and resolves with the entry that each has come to. */
export async function rebuild(deps: FollowDeps): Promise<Record<string, number>> {
  await deps.store.transact((tx) => {
    for (const follower of FOLLOWERS) tx.put("cursors", follower.name, beginning(follower));
  });
  await followAll(deps);
  const cursors = await cursorsIn(deps.store);
  return Object.fromEntries(FOLLOWERS.map(({ name }, index) => [name, cursors[index]?.value.entry ?? 0]));
}

/**
 * Follows the log as this process commits to it, until it is stopped. Times in milliseconds: `pause`, so that what is written
 * in a burst is followed together; `yielding`, so long another process that was faster is left to it, so that of many one
 * does the work; `poll`, as often as it is looked whether other processes have written.
 */
export function keepFollowing(
  deps: FollowDeps & { commits?: CommitSignal | undefined },
  { pause, yielding, poll } = { pause: 100, yielding: 2000, poll: 60_000 },
): { stop(): Promise<void> } {
  const commits = deps.commits ?? createCommitSignal();
  const never = createCommitSignal();
  const ended = new AbortController();
  const goOn = (): boolean => !ended.signal.aborted && !commits.closed;
  // What a forged entry says must not be kept; figures stay as they were until the log holds again.
  const sound = (): boolean => goOn() && !deps.integrity.breach;
  const run = async (): Promise<void> => {
    while (goOn()) {
      const { count } = commits;
      const wasSound = sound();
      const alone = await followAll(deps, sound);
      await never.wait(0, alone ? pause : yielding, ended.signal);
      // What failed is tried again; where nothing did, there is nothing to follow until somebody commits.
      const isUp = wasSound && alone && FOLLOWERS.every((follower) => problemOf(deps, follower) === null);
      while (!(await commits.wait(count, poll, ended.signal)) && isUp);
    }
  };
  const running = run();
  return {
    async stop() {
      ended.abort();
      await running;
    },
  };
}
