/** Storage of the self-evolution files without a disk. */
import type { EvolvedFile, EvolvedFiles } from "../../lib/operations/deps.ts";

/** Returns the storage, and its texts by name. Its lists have no hashes and no times. */
export function filesInMemory(): EvolvedFiles & { texts: Map<string, string> } {
  const texts = new Map<string, string>();
  return {
    texts,
    read: async (name) => texts.get(name),
    write: async (name, text) => void texts.set(name, text),
    list: async () =>
      [...texts].map(([name, text]): EvolvedFile => ({
        name,
        bytes: text.length,
        sha256: "",
        modified_at: "",
        kind: (["retrospective", "report"] as const).find((kind) => name.startsWith(`${kind}-`)) ?? "other",
      })),
  };
}
