/** Self-evolution files in the store, for a host without a disk. */
import type { Collections, Stored } from "../store/store.ts";
import type { EvolvedFile, EvolvedFiles, OperationsDeps } from "./deps.ts";
import { evolvedKind, isEvolvedName } from "./evolved_name.ts";

declare module "../store/store.ts" {
  interface Collections {
    evolved_files: Pick<EvolvedFile, "bytes" | "sha256" | "modified_at">;
    /** Texts, stored separately so that a list need not read them. */
    evolved_texts: { text: string };
  }
}

/** Stored files; the oldest are removed first. */
const MAX_FILES = 500;

/** Creates the access to the files in a store. */
export function createStoredFiles({
  store,
  clock,
  sha256,
}: Pick<OperationsDeps, "store" | "clock" | "sha256">): EvolvedFiles {
  return {
    async list() {
      const files = await store.list("evolved_files", { limit: MAX_FILES + 1 });
      return files.sort(newestFirst).map(({ id, value }) => ({ name: id, ...value, kind: evolvedKind(id) }));
    },
    async read(name) {
      if (!isEvolvedName(name)) return undefined;
      return (await store.get("evolved_texts", name))?.value.text;
    },
    async write(name, text) {
      if (!isEvolvedName(name)) throw new Error(`${JSON.stringify(name)} is no name for a self-evolution file`);
      const bytes = new TextEncoder().encode(text).length;
      const file = { bytes, sha256: sha256(text), modified_at: new Date(clock.now()).toISOString() };
      await store.transact(async (tx) => {
        tx.put("evolved_files", name, file);
        tx.put("evolved_texts", name, { text });
        // The limit, and the file of this write.
        const files = await tx.list("evolved_files", { limit: MAX_FILES + 1 });
        for (const { id } of files.sort(newestFirst).slice(MAX_FILES)) {
          tx.delete("evolved_files", id);
          tx.delete("evolved_texts", id);
        }
      });
    },
  };
}

type StoredFile = Stored<Collections["evolved_files"]>;

/** Sorts newest first; files of the same moment by name. */
const newestFirst = (a: StoredFile, b: StoredFile): number =>
  compareText(b.value.modified_at, a.value.modified_at) || compareText(a.id, b.id);

function compareText(a: string, b: string): number {
  if (a < b) return -1;
  return a > b ? 1 : 0;
}
