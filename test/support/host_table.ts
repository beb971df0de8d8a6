/** The settings of a host product in memory: the value of each target and the change that set it. */

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

/** Makes an empty table, whose operations are idempotent. */
export function hostTable() {
  const layers = new Map<string, Layer[]>();
  const rolledBack = new Set<string>();

  const listLayers = ({ tenant_id, target }: HostChange): Layer[] => {
    const key = `${tenant_id} ${target.toLowerCase()}`;
    if (!layers.has(key)) layers.set(key, []);
    return layers.get(key)!;
  };
  const findLayer = (change: HostChange): number =>
    listLayers(change).findIndex(({ change_id }) => change_id === change.change_id);
  const isInForce = (change: HostChange): boolean => findLayer(change) !== -1;

  return {
    isInForce,
    apply(change: HostChange): string {
      if (!isInForce(change))
        listLayers(change).push({ change_id: change.change_id, json: JSON.stringify(change.value) });
      rolledBack.delete(change.change_id);
      return "applied";
    },
    rollback(change: HostChange): string {
      const index = findLayer(change);
      if (index === -1 && change.status === "applied" && !rolledBack.has(change.change_id)) throw new LostChange();
      rolledBack.add(change.change_id);
      if (index === -1) return "rolled_back";
      const stack = listLayers(change);
      stack.splice(index, 1);
      return index === stack.length ? "rolled_back" : "superseded";
    },
    verify(change: HostChange): string {
      const stack = listLayers(change);
      const index = findLayer(change);
      if (index === -1) return rolledBack.has(change.change_id) ? "rolled_back" : "absent";
      const isOverwritten = stack.slice(index + 1).some(({ change_id }) => change_id === undefined);
      return !isOverwritten && stack[index]!.json === JSON.stringify(change.value) ? "applied" : "unknown";
    },
    /** Returns the JSON of a target's value, or undefined if the target has none. */
    content: (change: HostChange): string | undefined => listLayers(change).at(-1)?.json,
    /** Sets a target as another program does. */
    overwrite: (change: HostChange, value: unknown): void =>
      void listLayers(change).push({ json: JSON.stringify(value) }),
  };
}
