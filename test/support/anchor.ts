import type { CheckpointAnchor } from "../../lib/audit/checkpoint.ts";

/** An anchor that keeps these checkpoints already, and takes more. */
export function makeAnchor(...notes: string[]): CheckpointAnchor & { notes: string[] } {
  return {
    notes,
    append: async (note) => void notes.push(note),
    async *readAll() {
      yield notes;
    },
  };
}
