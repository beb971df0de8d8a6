/** Target systems on real git repositories, for tests. */
import { join } from "node:path";
import { vi } from "vitest";
import type { Change } from "../../lib/changes/rules/change.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import type { AttemptContext, Entry } from "../../lib/targets/port.ts";
import { gitTarget, type GitTargetOptions } from "../../local/targets/git.ts";
import { type Files, gitServer } from "./git_server.ts";

/** A signal that never aborts. */
export const neverAborted = new AbortController().signal;
/** A clock that always shows the same time. */
export const clock = { now: () => Date.UTC(2026, 0, 2) };

/** The change `chg_a`, which sets `config/limits.json` in a system of `gitBench`. */
export const change = (value: unknown, overrides: Partial<Change> = {}): Change =>
  ({ change_id: "chg_a", tenant_id: "t1", kind: "config", target: "limits", value, ...overrides }) as Change;

/** The entry of the change `chg_a`. */
export const entry = (value: unknown, overrides: Partial<Entry> = {}): Entry => ({ ...change(value), ...overrides });

/** An attempt to apply the change `chg_a`. */
export const attempt = (overrides: Partial<AttemptContext> = {}): AttemptContext => ({
  change_id: "chg_a",
  operation: "apply",
  attempt: "attempt-1",
  at: new Date(clock.now()).toISOString(),
  ...overrides,
});

let folderCount = 0;

/** Makes a repository and functions that open target systems on it, each with its own clone. */
export async function gitBench({ files, ...options }: Partial<GitTargetOptions> & { files?: Files } = {}) {
  const server = await gitServer(files);
  const openSystem = (overrides: Partial<GitTargetOptions> = {}) =>
    gitTarget({
      url: server.bare,
      branch: "main",
      path: ({ target }) => `config/${target}.json`,
      folder: join(server.root, `clone-${++folderCount}`),
      clock,
      ...options,
      ...overrides,
    });
  const openAdapter = (overrides: Partial<GitTargetOptions> = {}) => {
    const system = openSystem(overrides);
    const adapter = targetAdapter(system, { store: memoryStore(), clock });
    return {
      system,
      adapter,
      apply: (changed: Change) => adapter.apply(changed, neverAborted),
      verify: (changed: Change) => adapter.verify(changed, neverAborted),
      async rollback(changed: Change) {
        return (await adapter.rollback({ ...changed, status: "applied" }, neverAborted)).result;
      },
    };
  };
  return { ...server, openSystem, openAdapter };
}

/** Runs a synchronous function with another PATH. */
export async function onPath<T>(path: string, run: () => T): Promise<T> {
  vi.stubEnv("PATH", path);
  try {
    return run();
  } finally {
    vi.unstubAllEnvs();
  }
}
