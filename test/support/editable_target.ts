/** A target system in memory behind the generic adapter; a test can edit its targets directly. */
import { systemClock } from "../../lib/kit/platform.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import { memoryTarget } from "./memory_target.ts";

export function editableTarget() {
  const target = memoryTarget();
  const adapter = targetAdapter(target.system, { store: memoryStore(), clock: systemClock });
  const entry = (name: string) => ({ tenant_id: "t1", target: name, kind: "config" as const });
  return {
    target,
    adapter,
    /** Sets the text of a target of tenant t1 as another program would. */
    edit: (name: string, raw: string | undefined): void => target.overwrite(entry(name), raw),
    value: (name: string): string | undefined => target.raw(entry(name)),
  };
}
