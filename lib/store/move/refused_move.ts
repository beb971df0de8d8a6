/** A move or a backup that is not made: in words for whoever asked for it. Nothing has changed. */
export class MoveRefused extends Error {
  override readonly name = "MoveRefused";
}
