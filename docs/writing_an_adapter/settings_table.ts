// settings_table.ts
import type { Change, ProductAdapter } from "countersign";

/** The content of a target: the value, whose change set it, and what was there before. */
export interface Setting {
  change_id: string;
  value: unknown;
  before?: Setting | undefined;
}

/** The setting that a change made, also below a later change. */
const madeBy = (change_id: string, setting: Setting | undefined): Setting | undefined =>
  !setting || setting.change_id === change_id ? setting : madeBy(change_id, setting.before);

/** A setting without the part of one change; a later change then has the value before that as its own `before`. */
const without = (change_id: string, setting: Setting | undefined): Setting | undefined =>
  setting?.change_id === change_id
    ? setting.before
    : setting && { ...setting, before: without(change_id, setting.before) };

const shown = (setting: Setting | undefined) => (setting ? { value: setting.value } : null);

/** The host's own table, by tenant and target, and the adapter that sets it. */
export function settingsTable() {
  const settings = new Map<string, Setting>();
  const takenBack = new Set<string>();
  // UI.Banner and ui.banner are one target.
  const keyOf = ({ tenant_id, target }: Change): string => `${tenant_id} ${target.toLowerCase()}`;
  const heldBy = (change: Change): Setting | undefined => settings.get(keyOf(change));

  const adapter: ProductAdapter = {
    name: "settings",

    async validate({ value }) {
      return value === undefined ? { ok: false, reason: "a value is needed" } : { ok: true };
    },

    async apply(change) {
      const { change_id, value } = change;
      const made = madeBy(change_id, heldBy(change));
      if (made) return { result: "applied", previous: shown(made.before) }; // a repeated request
      const before = heldBy(change);
      settings.set(keyOf(change), { change_id, value, before });
      takenBack.delete(change_id);
      return { result: "applied", previous: shown(before) };
    },

    async verify(change) {
      const { change_id, value } = change;
      const made = madeBy(change_id, heldBy(change));
      if (made) return JSON.stringify(made.value) === JSON.stringify(value) ? "applied" : "unknown";
      return takenBack.has(change_id) ? "rolled_back" : "absent";
    },

    async rollback(change) {
      const { change_id, status } = change;
      const held = heldBy(change);
      if (!madeBy(change_id, held)) {
        if (status === "applied" && !takenBack.has(change_id)) throw new Error("the table has lost this change");
        return { result: "rolled_back" };
      }
      const left = without(change_id, held);
      if (left) settings.set(keyOf(change), left);
      else settings.delete(keyOf(change));
      takenBack.add(change_id);
      return { result: held?.change_id === change_id ? "rolled_back" : "superseded" };
    },

    async held(change) {
      return shown(heldBy(change));
    },
  };
  return { settings, adapter };
}
