import type { CheckpointAnchor } from "../../lib/audit/checkpoint.ts";

/** Returns an in-memory anchor that already stores these checkpoints. */
export function makeAnchor(...notes: string[]): CheckpointAnchor & { notes: string[] } {
  return {
    notes,
    append: async (note) => void notes.push(note),
    async *readAll() {
      yield notes;
    },
  };
}
