import type { Change } from "../../lib/changes/rules/change.ts";
import type {
  AdapterResult,
  HostState,
  ProductAdapter,
  Validation,
} from "../../lib/changes/operations/adapter_port.ts";

type Step = "validate" | "apply" | "verify" | "rollback";

/** Runs instead of a step's work; if it returns undefined, the work runs after it. May throw, wait or never resolve. */
export type Script = (change: Change, signal: AbortSignal) => unknown;

/** An adapter for a host product in memory that works correctly until a test replaces a step. */
export interface ScriptedAdapter extends ProductAdapter {
  /** The host product's state of each change, by change id. */
  readonly host: Map<string, HostState>;
  /** The steps that were called, in order. */
  readonly calls: Step[];
  /** Replaces a step for all further calls, or for a number of them. */
  on(step: Step, script: Script, times?: number): void;
  /** Removes all replacements. */
  removeScripts(): void;
}

/** Makes an adapter with the name `scripted`. */
export function scriptedAdapter(): ScriptedAdapter {
  const host = new Map<string, HostState>();
  const calls: Step[] = [];
  const scripts = new Map<Step, { script: Script; timesLeft: number }>();

  async function perform<T>(step: Step, change: Change, signal: AbortSignal, work: () => T): Promise<T> {
    calls.push(step);
    const replacement = scripts.get(step);
    if (!replacement || replacement.timesLeft === 0) return work();
    replacement.timesLeft--;
    const result = await replacement.script(change, signal);
    return result === undefined ? work() : (result as T);
  }

  return {
    name: "scripted",
    host,
    calls,
    on: (step, script, times = Infinity) => void scripts.set(step, { script, timesLeft: times }),
    removeScripts: () => scripts.clear(),
    validate: (change, signal) =>
      perform<Validation>("validate", change, signal, () => ({ ok: true, preview: { sets: change.value ?? null } })),
    apply: (change, signal) =>
      perform<AdapterResult>("apply", change, signal, () => {
        host.set(change.change_id, "applied");
        return { result: "applied" };
      }),
    verify: (change, signal) =>
      perform<HostState>("verify", change, signal, () => host.get(change.change_id) ?? "absent"),
    rollback: (change, signal) =>
      perform<AdapterResult>("rollback", change, signal, () => {
        host.set(change.change_id, "rolled_back");
        return { result: "rolled_back" };
      }),
  };
}

/** Returns a script that throws an error with this message. */
export const fails =
  (message: string): Script =>
  () => {
    throw new Error(message);
  };

/** A script that never resolves, as when the process has ended. */
export const hangs: Script = () => new Promise(() => {});

/** Returns a promise and the function that resolves it, to pause work at one point. */
export function makeBarrier(): { opened: Promise<void>; open: () => void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
