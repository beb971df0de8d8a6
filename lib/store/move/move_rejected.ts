/** A rejected move or backup, with a message for its caller. Nothing has changed. */
export class MoveRejected extends Error {
  override readonly name = "MoveRejected";
}
