/** A token is not accepted. The message says why, for the sender, and calls the token “it”; `detail`, for the log, may name addresses. */
export class TokenRejected extends Error {
  override readonly name = "TokenRejected";
  readonly detail: string;
  constructor(message: string, detail = message) {
    super(message);
    this.detail = detail;
  }
}
