/** Determines the speaker and the conversation of a chat message. */
import { requirePerson } from "../changes/caller.ts";
import type { Call } from "../http/endpoint.ts";
import { line } from "../kit/fields.ts";
import { PERSONAL_PREFIX } from "../memory/history.ts";
import type { OperationsDeps } from "../operations/deps.ts";

/** Finds the speaker; behind a trusted proxy it must be the person whom the proxy names. Errors: 403 `identity_mismatch`. */
export function findSpeaker(call: Call<OperationsDeps>, author: string | undefined): string | null {
  requirePerson(call, "author", author);
  // `person` is "" if the proxy names nobody.
  return author ?? (call.identity.person || null);
}

/** Schema of a conversation's name in a request, which cannot name personal conversations. */
export const conversation = line(100).refine(
  (name) => !name.startsWith(PERSONAL_PREFIX),
  `must not begin with ${PERSONAL_PREFIX}; send author to continue a person's own conversation`,
);
