/** A file of the store does not hold what the store wrote: nothing is guessed, the start is refused. */
export class StoreDamaged extends Error {
  override readonly name = "StoreDamaged";
  /** `offset`: bytes from the start of the file. `remedy`: what its keeper can do. */
  constructor(
    readonly file: string,
    readonly offset: number,
    reason: string,
    remedy = "Restore the file from a copy.",
  ) {
    super(`${file}, byte ${offset}: ${reason}. ${remedy}`);
  }
}
