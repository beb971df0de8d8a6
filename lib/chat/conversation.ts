/** Who talks, and where. */
import { requirePerson } from "../changes/caller.ts";
import type { Call } from "../http/endpoint.ts";
import { line } from "../kit/fields.ts";
import { PERSONAL } from "../memory/history.ts";
import type { OperationsDeps } from "../operations/deps.ts";

/** Who speaks or listens: with a trusted proxy the person it names, and no other. 403 `identity_mismatch`. */
export function findSpeaker(call: Call<OperationsDeps>, author: string | undefined): string | null {
  requirePerson(call, "author", author);
  return author ?? (call.identity.person || null);
}

/** The name of a conversation; somebody's own goes by who they are, and by no name. */
export const conversation = line(100).refine(
  (name) => !name.startsWith(PERSONAL),
  `must not begin with ${PERSONAL}; a person's own conversation is that of author`,
);
