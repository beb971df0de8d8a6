// records.ts
import { Json, type Key, type ListOptions, type SortedMap, sortedMap, type Version } from "countersign/stores/engine";

type Line = [collection: string, id: string, revision: number, json?: string];

/** Versions of records in memory, and as a text. */
export class Records {
  readonly #live = new Map<string, SortedMap<Version>>();
  readonly #deleted = new Map<string, Version>();

  constructor(text = "[]") {
    for (const [collection, id, revision, json] of JSON.parse(text) as Line[])
      this.keep([{ collection, id, revision, json: json === undefined ? undefined : new Json(json) }]);
  }

  versions(keys: readonly Key[]): (Version | undefined)[] {
    return keys.map(
      (key) =>
        this.#findLiveOffsets(key.collection).get(key.id) ??
        this.#deleted.get(JSON.stringify([key.collection, key.id])),
    );
  }

  list(collection: string, options: ListOptions<boolean>): Version[] {
    return this.#findLiveOffsets(collection)
      .page(options)
      .map(([, version]) => version);
  }

  keep(writes: readonly Version[]): void {
    for (const version of writes) {
      const { collection, id, json } = version;
      const name = JSON.stringify([collection, id]);
      if (json) {
        this.#findLiveOffsets(collection).set(id, version);
        this.#deleted.delete(name);
      } else {
        this.#findLiveOffsets(collection).delete(id);
        this.#deleted.set(name, version);
      }
    }
  }

  text(): string {
    const live = [...this.#live.values()].flatMap((ids) => ids.page({ limit: Infinity }).map(([, version]) => version));
    const lines = [...live, ...this.#deleted.values()].map(
      ({ collection, id, revision, json }): Line => [collection, id, revision, ...(json ? [json.text] : [])] as Line,
    );
    return JSON.stringify(lines);
  }

  #findLiveOffsets(collection: string): SortedMap<Version> {
    let ids = this.#live.get(collection);
    if (!ids) this.#live.set(collection, (ids = sortedMap()));
    return ids;
  }
}
