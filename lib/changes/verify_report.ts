/** Verifies the chain against an expected head, and the changes against the chain. */
import type { ChangesDeps } from "./deps.ts";
import { entryKey, readHead } from "../audit/chain.ts";
import { FIRST_PREVIOUS_HASH } from "../audit/entry_hash.ts";
import { reconcile } from "./reconcile.ts";
import type { VerifiedChain } from "../audit/integrity.ts";
import { verifyChain } from "../audit/verify.ts";

/** An end of the log that the caller stored: its length, and the `current_hash` of its last entry. */
interface ExpectedEnd {
  expected_length?: number | undefined;
  expected_head?: string | undefined;
}

/**
 * Verifies the log against an expected end, then the stored changes against the log. If only changes differ, `first_invalid` is
 * `null`; `state` is the comparison of the changes.
 */
export async function verifyReport(deps: ChangesDeps, expected: ExpectedEnd) {
  const chain = await verifyChainAgainst(deps, expected);
  if (!chain.valid) return { ...chain, not_checked: [...chain.not_checked, "state_mismatch"], state: null };
  const state = await reconcile(deps);
  if (state.mismatched === 0) return { ...chain, state };
  const reason = `state_mismatch: ${state.mismatched} changes are not what the log says of them`;
  return { ...chain, valid: false, reason, state };
}

/** Verifies the chain. A log may have grown beyond the expected end, but must not contradict it. */
async function verifyChainAgainst(deps: ChangesDeps, { expected_length, expected_head }: ExpectedEnd) {
  const { length, head, losses, breach = deps.integrity.breach } = await verifyUntilNow(deps);
  const endLength = expected_length ?? length;
  // An expected length of 0 proves nothing, since every log begins empty.
  const hasLength = expected_length !== undefined && endLength > 0;
  const hasHead = expected_head !== undefined && endLength > 0;
  const report = {
    valid: !breach,
    length,
    head,
    first_invalid: breach?.first_invalid ?? null,
    reason: breach?.reason ?? null,
    losses,
    not_checked: [
      ...(hasLength || hasHead ? [] : (["tail_truncation"] as const)),
      ...(hasHead ? [] : (["full_rewrite"] as const)),
    ],
  };
  if (breach) return report;
  // An accepted loss that explains why the expected end is missing.
  const loss = losses.find(({ known, continues }) => {
    if (known.head === null) return continues.length < endLength;
    // Entries that remained are not lost; a log that had grown beyond its lost end states no entry that remained.
    return known.length >= endLength && (continues.length < endLength || continues.length >= known.length);
  });
  const lossNote = loss
    ? `; ${loss.actor} accepted at ${loss.at} that the log lost its end (entry ${loss.entry}): ${loss.message}`
    : "";
  const createInvalidReport = (first_invalid: number, reason: string) => ({
    ...report,
    valid: false,
    first_invalid,
    reason: `${reason}${lossNote}`,
  });
  if (endLength > length)
    return createInvalidReport(length + 1, `the log has ${length} entries and had ${endLength}: its tail was cut`);
  if (expected_head === undefined || expected_head === (await readHashAt(deps, endLength))) return report;
  return createInvalidReport(
    endLength,
    expected_length === undefined
      ? "the head is not expected_head; give the expected_length it belongs to if the log has grown since"
      : `entry ${endLength} is not the one that was kept: the log was rewritten`,
  );
}

/** Verifies the chain up to its current end, since a shared pass may have begun before the newest entry. */
async function verifyUntilNow(deps: ChangesDeps): Promise<VerifiedChain> {
  const now = (await readHead(deps.store))?.length ?? 0;
  const shared = await verifyChain(deps);
  return shared.breach || shared.length >= now ? shared : verifyChain(deps);
}

/** Reads the `current_hash` of an entry; 0 stands for the empty log. */
async function readHashAt({ store }: ChangesDeps, id: number): Promise<string | undefined> {
  if (id === 0) return FIRST_PREVIOUS_HASH;
  return (await store.get("audit", entryKey(id)))?.value.current_hash;
}
