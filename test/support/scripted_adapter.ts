import type { Change } from "../../lib/changes/rules/change.ts";
import type {
  AdapterResult,
  HostState,
  ProductAdapter,
  Validation,
} from "../../lib/changes/operations/adapter_port.ts";

type Step = "validate" | "apply" | "verify" | "rollback";

/** Replacement of a step's work; when it answers nothing, the work follows. May throw, wait, or never answer. */
export type Script = (change: Change, signal: AbortSignal) => unknown;

/** An adapter on a host product in memory, that does what it should until a step is configured otherwise. */
export interface ScriptedAdapter extends ProductAdapter {
  /** State of the host product, by change. */
  readonly host: Map<string, HostState>;
  /** The steps that were called, in order. */
  readonly calls: Step[];
  /** Replaces what a step does, from now on or for the given number of calls. */
  on(step: Step, script: Script, times?: number): void;
  /** Takes all replacements away. */
  calm(): void;
}

/** Makes one; `name` is `scripted`. */
export function scriptedAdapter(): ScriptedAdapter {
  const host = new Map<string, HostState>();
  const calls: Step[] = [];
  const scripts = new Map<Step, { script: Script; left: number }>();

  async function perform<T>(step: Step, change: Change, signal: AbortSignal, work: () => T): Promise<T> {
    calls.push(step);
    const scripted = scripts.get(step);
    if (!scripted || scripted.left === 0) return work();
    scripted.left--;
    const said = await scripted.script(change, signal);
    return said === undefined ? work() : (said as T);
  }

  return {
    name: "scripted",
    host,
    calls,
    on: (step, script, times = Infinity) => void scripts.set(step, { script, left: times }),
    calm: () => scripts.clear(),
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

/** A script that fails with this message. */
export const fails =
  (message: string): Script =>
  () => {
    throw new Error(message);
  };

/** A script that never answers, as when the process is gone. */
export const hangs: Script = () => new Promise(() => {});

/** A promise that is settled from outside, for work that must be held at one point. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
