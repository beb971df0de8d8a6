/** Drafts of language models: limits the number of open drafts, and finds drafts that were filed or rejected before. */
import { canonicalJson } from "../kit/canonical_json.ts";
import { readRecord, readRecords } from "./records.ts";
import type { ChangeEntry } from "./rules/list_entries.ts";
import type { Change, PlanEntry, Resolution } from "./rules/change.ts";
import type { Transaction } from "./transaction.ts";

/** Maximum number of open drafts, so that undecided drafts do not accumulate. */
export const MAX_OPEN_DRAFTS = 5;

/** Time for which a rejected draft is not filed again unchanged; later, circumstances may have changed. */
const REJECTION_VALID_MS = 90 * 86_400_000;
const REJECTED: readonly (Resolution | null)[] = ["denied", "withdrawn", "revoked", "expired"];

/** Reason why a draft is not filed: too many wait, the same change waits already, or it was rejected. */
export type DraftProblem = { open: string[] } | { waits: string } | { turned_down: RejectedDraft };

/** The earlier draft, and who rejected it, when and why. */
export type RejectedDraft = Pick<Change, "change_id" | "resolution" | "approver" | "approval_note" | "decided_at">;

/** The effect of a draft without its wording, which a model varies. */
type DraftedChange = ChangeEntry & Pick<Change, "kind">;

/** Finds the reason why a draft must not be filed; undefined if it may be. Removes closed drafts from the list of open ones. */
export async function findDraftProblem(
  transaction: Transaction,
  drafted: DraftedChange,
): Promise<DraftProblem | undefined> {
  const last = await findLastDraft(transaction, drafted);
  // A second copy would still be open after the first one is denied.
  if (last?.status === "pending_consent") return { waits: last.change_id };
  const turned_down = last && findRejection(last, transaction.now);
  if (turned_down) return { turned_down };
  const open = await listOpenDrafts(transaction);
  return open.length >= MAX_OPEN_DRAFTS ? { open } : undefined;
}

/** Stores that a model's draft was filed. */
export function storeDraft({ tx, sha256 }: Transaction, change: Change): void {
  tx.put("llm_drafts", change.change_id, true);
  tx.put("llm_drafted", digestDraft(change, sha256), change.change_id);
}

/** Finds the last draft of the same change. */
async function findLastDraft({ tx, sha256 }: Transaction, drafted: DraftedChange): Promise<Change | undefined> {
  const stored = await tx.get("llm_drafted", digestDraft(drafted, sha256));
  return stored && (await readRecord(tx, stored.value))?.change;
}

/** Returns the rejection of a draft; undefined if there is none, or it is too old. */
function findRejection(change: Change, now: number): RejectedDraft | undefined {
  const { change_id, resolution, approver, approval_note, decided_at } = change;
  if (!REJECTED.includes(resolution)) return undefined;
  if (decided_at !== null && now - Date.parse(decided_at) > REJECTION_VALID_MS) return undefined;
  return { change_id, resolution, approver, approval_note, decided_at };
}

/** Digests the effect of a draft. Spaces around a tenant, its width and a target's case do not change it; the tenant's case does. */
function digestDraft({ kind, sets, ...change }: DraftedChange, sha256: Transaction["sha256"]): string {
  const compared = { ...toComparable(change), kind, ...(sets && { sets: sets.map(toComparable) }) };
  return sha256(canonicalJson(compared));
}

const toComparable = ({ tenant_id, target, value }: PlanEntry): PlanEntry => ({
  tenant_id: tenant_id.normalize("NFKC").trim(),
  target: target.toLowerCase(),
  value,
});

/** Lists the drafts that wait for consent, and removes the others from the list. */
async function listOpenDrafts({ tx }: Transaction): Promise<string[]> {
  // There are never more: each stored draft passed this check, which removes the closed ones.
  const ids = (await tx.list("llm_drafts", { limit: MAX_OPEN_DRAFTS, keysOnly: true })).map(({ id }) => id);
  const records = await readRecords(tx, ids);
  const open = ids.filter((_, index) => records[index]?.change.status === "pending_consent");
  for (const id of ids) if (!open.includes(id)) tx.delete("llm_drafts", id);
  return open;
}
