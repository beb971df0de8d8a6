/** The settings of a host product that lives in memory: what each target holds, and which change set it. */

/** The fields of a change that the table reads. */
export interface HostChange {
  change_id: string;
  tenant_id?: string;
  target: string;
  value?: unknown;
  status?: string;
}

/** One value of a target; `change_id` is absent where another program set it. */
interface Layer {
  change_id?: string;
  json: string | undefined;
}

/** Thrown for a rollback of an applied change that the table has lost. */
export class LostChange extends Error {}

/** Makes an empty table. Each operation is safe to repeat. */
export function hostTable() {
  const layers = new Map<string, Layer[]>();
  const rolledBack = new Set<string>();

  const layersOf = ({ tenant_id, target }: HostChange): Layer[] => {
    const key = `${tenant_id} ${target.toLowerCase()}`;
    if (!layers.has(key)) layers.set(key, []);
    return layers.get(key)!;
  };
  const findLayer = (change: HostChange): number =>
    layersOf(change).findIndex(({ change_id }) => change_id === change.change_id);
  const isShown = (change: HostChange): boolean => findLayer(change) !== -1;

  return {
    isShown,
    apply(change: HostChange): string {
      if (!isShown(change)) layersOf(change).push({ change_id: change.change_id, json: JSON.stringify(change.value) });
      rolledBack.delete(change.change_id);
      return "applied";
    },
    rollback(change: HostChange): string {
      const index = findLayer(change);
      if (index === -1 && change.status === "applied" && !rolledBack.has(change.change_id)) throw new LostChange();
      rolledBack.add(change.change_id);
      if (index === -1) return "rolled_back";
      const stack = layersOf(change);
      stack.splice(index, 1);
      return index === stack.length ? "rolled_back" : "superseded";
    },
    verify(change: HostChange): string {
      const stack = layersOf(change);
      const index = findLayer(change);
      if (index === -1) return rolledBack.has(change.change_id) ? "rolled_back" : "absent";
      const isChanged = stack.slice(index + 1).some(({ change_id }) => change_id === undefined);
      return !isChanged && stack[index]!.json === JSON.stringify(change.value) ? "applied" : "unknown";
    },
    /** The JSON that a target holds; undefined: nothing. */
    content: (change: HostChange): string | undefined => layersOf(change).at(-1)?.json,
    /** Sets a target as another program would. */
    overwrite: (change: HostChange, value: unknown): void =>
      void layersOf(change).push({ json: JSON.stringify(value) }),
  };
}
