/** A peer broke the protocol. The message is for this node's own log; the other end is told nothing. */
export class Violation extends Error {
  override readonly name = "Violation";
}
