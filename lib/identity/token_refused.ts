/** A token is not accepted; the message says why and repeats nothing of the token but its algorithm and key id. */
export class TokenRefused extends Error {
  override readonly name = "TokenRefused";
}
