// bucket_store.ts
import { type Attempt, Contended, groupCommit, makeReads, type Store, systemPacing } from "countersign/stores/engine";
import { Records } from "./records.js";

/** One object of a bucket. */
export interface Bucket {
  /** Its text, and what names this version of it (an ETag); undefined when it is not there. */
  read(): Promise<{ text: string; version: string } | undefined>;
  /** Writes it if it is at this version still, or not there still; gives the new version, undefined where it is not. */
  write(text: string, version: string | undefined): Promise<string | undefined>;
}

/** A store in the object; as many processes as like may have it open. */
export function bucketStore(bucket: Bucket): Store {
  const begin = (): Attempt => {
    const reading = bucket.read().then((found) => ({ head: found?.version, records: new Records(found?.text) }));
    return {
      head: reading.then(({ head }) => head ?? "none"),
      versions: async (keys) => (await reading).records.versions(keys),
      list: async (collection, options) => (await reading).records.list(collection, options),
      async commit(writes) {
        const { head, records } = await reading;
        if (writes.length === 0) return head ?? "none"; // all was read at one moment
        records.keep(writes);
        const next = await bucket.write(records.text(), head);
        if (next === undefined) throw new Contended("the object was written");
        return next;
      },
      async abandon() {},
    };
  };
  return {
    ...makeReads({
      versions: (keys) => begin().versions(keys),
      list: (collection, options) => begin().list(collection, options),
    }),
    ...groupCommit({ begin, limits: { writes: 1000, bytes: 10_000_000 } }, systemPacing),
  };
}
