/** The end of a store that is moved away from: it is fenced, or it goes on, and where nobody was told, its mark tells. */
import { isSame } from "../../store/engine/mark.ts";
import { type Mark, MarkChanged, type Whole } from "../../store/whole.ts";

/** Whether the source of a move is fenced cannot be known: what was loaded from it may be all that goes on. */
export class FenceUnknown extends Error {
  override readonly name = "FenceUnknown";
}

/**
 * Fences a store that is held, or releases it. Errors: `FenceUnknown`; where it goes on, whatever the fence failed with.
 */
export async function fence({ commit, mark }: Pick<Whole, "commit" | "mark">, held: Mark, moved: Mark): Promise<void> {
  try {
    await commit([], { from: held, to: moved });
  } catch (error) {
    const unknown = (): never => {
      const why = error instanceof Error ? error.message : String(error);
      throw new FenceUnknown(`it cannot be known whether the store is fenced: give the same command again. ${why}`, {
        cause: error,
      });
    };
    // Once it is released, no fence that is still on its way takes hold.
    const kept = await commit([], { from: held, to: undefined }).then(
      () => undefined,
      (reason: unknown) => ({ reason }),
    );
    if (!kept) throw error;
    if (isSame(await mark().catch(unknown), moved)) return;
    if (!(kept.reason instanceof MarkChanged)) unknown();
    throw error;
  }
}
