/** What has been accepted but is not yet durable, laid over what is. */
import { inner, listOver, storedOf, type Version, type Versions, type View } from "../../lib/store/engine/write_set.ts";

/** Everything accepted, as decisions see it. */
export interface Overlay extends View {
  add(writes: Versions): void;
  /** These have become durable. */
  settle(versions: readonly Version[]): void;
}

/** An empty overlay. */
export function newOverlay(below: View): Overlay {
  const accepted: Versions = new Map();
  return {
    get(collection, id) {
      const version = accepted.get(collection)?.get(id);
      return version ? storedOf(version) : below.get(collection, id);
    },
    list: (collection, options) =>
      listOver((range) => below.list(collection, range), accepted.get(collection), options),
    revision(collection, id) {
      const version = accepted.get(collection)?.get(id);
      if (!version) return below.revision(collection, id);
      return version.text === undefined ? -version.revision : version.revision;
    },
    add(writes) {
      for (const [collection, versions] of writes) {
        const known = inner(accepted, collection);
        for (const [id, version] of versions) known.set(id, version);
      }
    },
    settle(versions) {
      for (const version of versions) {
        const known = accepted.get(version.collection);
        // A later transaction may have written the record again.
        if (known?.get(version.id) === version) known.delete(version.id);
      }
    },
  };
}
