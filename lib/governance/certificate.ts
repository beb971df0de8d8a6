/**
 * A certificate: what was consented to, by whom and under which rules, in one text file that is checked without the
 * service. Its parts are whole by themselves: the content, each intent that a decision was made under, and each deciding
 * entry in a C2SP `tlog-proof`.
 */
import { type Checkpoint, currentCheckpoint } from "../audit/checkpoint.ts";
import type { AuditEntry } from "../audit/entry.ts";
import { entriesOf } from "../audit/page.ts";
import { inclusionPath, withWholeTree } from "../audit/prove.ts";
import { mostCosigned, withCosignatures, type WitnessDeps, witnessed } from "../audit/witnessing.ts";
import { base64Of } from "../kit/base64.ts";
import { AppError } from "../kit/errors.ts";
import type { Reads } from "../store/store.ts";
import { findChange } from "./records.ts";
import { canonicalContent, digestOf } from "./rules/content.ts";
import { detailIn } from "./rules/event.ts";

/** What decides; a try that failed, and what was found about the host, do not. */
const DECIDING: readonly string[] = [
  "change_proposed",
  "consent_decision",
  "change_applied",
  "emergency_reviewed",
  "change_rolled_back",
  "content_erased",
];

/**
 * The certificate of a change as it stands now; every entry is proven to be under one checkpoint. Errors: 404
 * `change_not_found`, 409 `approval_stale` where the content is not the one that was proposed, 503 `chain_broken` or
 * `store_unavailable` where no checkpoint covers it.
 */
export async function certificateOf(deps: WitnessDeps, changeId: string): Promise<string> {
  const { store, sha256 } = deps;
  // The record before the checkpoint, which then covers all its entries.
  const { change, audit } = await findChange(store, changeId);
  const entries = (await entriesOf(store, audit)).filter(({ event_type }) => DECIDING.includes(event_type));
  if (entries[0] === undefined || toldDigest(entries) !== digestOf(change, sha256))
    throw new AppError(
      "approval_stale",
      `the content of ${changeId} is not what was proposed; no certificate is made of it`,
    );
  const last = entries.at(-1)!.id;
  const { length, note } = await checkpointOver(deps, last);
  if (length < last) throw notCovered(deps, changeId, length);
  const proofs = await withWholeTree(deps, () =>
    Promise.all(entries.map(async (entry) => proofOf(entry, await inclusionPath(deps, entry.id, length), note))),
  );
  const manifests = await manifestsOf(store, entries);
  return [
    "countersign-certificate/v1\n",
    part(change.erased ? "erased" : "content", `${canonicalContent(change)}\n`),
    ...manifests.map((manifest) => part("intent", `${manifest}\n`)),
    ...proofs.map((proof) => part("proof", proof)),
  ].join("");
}

/** The digest of what is there now, by the entries: the content that was proposed, or what an erasure left of it. */
function toldDigest(entries: readonly AuditEntry[]): string | undefined {
  const erased = entries.find(({ event_type }) => event_type === "content_erased");
  const { digest, remaining_digest } = detailIn((erased ?? entries[0]!).detail);
  return erased ? remaining_digest : digest;
}

/** The checkpoint over an entry that most witnesses cosigned, the newest of several; else the log's own. */
async function checkpointOver(deps: WitnessDeps, entry: number): Promise<Checkpoint> {
  const known = await witnessed(deps);
  const checkpoint = mostCosigned(known, entry) ?? (await currentCheckpoint(deps));
  return { ...checkpoint, note: withCosignatures(checkpoint.note, known) };
}

/** No checkpoint is made while the log is broken, the store cannot write, or another process signs. */
function notCovered({ integrity: { breach, displaced } }: WitnessDeps, changeId: string, length: number): AppError {
  const covers = `the last checkpoint, of ${length} entries, does not cover ${changeId}`;
  if (breach) return new AppError("chain_broken", `${covers}, and none is made of a broken log`, { ...breach });
  return new AppError("store_unavailable", `${covers}; ${displaced ?? "ask again when the store can write"}`);
}

/** A part behind its name and its length in bytes of UTF-8. */
const part = (name: string, text: string): string => `${name} ${new TextEncoder().encode(text).length}\n${text}`;

/** C2SP `tlog-proof@v1`; the leaf is the entry's `current_hash`, which is that of the entry in `extra`. */
function proofOf(entry: AuditEntry, hashes: readonly string[], checkpoint: string): string {
  const extra = base64Of(new TextEncoder().encode(JSON.stringify(entry)));
  const lines = ["c2sp.org/tlog-proof@v1", `extra ${extra}`, `index ${entry.id - 1}`, ...hashes, "", checkpoint];
  return lines.join("\n");
}

/** The intents that decisions were made under, in that order, as far as the store has them. */
async function manifestsOf(store: Pick<Reads, "getMany">, entries: readonly AuditEntry[]): Promise<string[]> {
  const hashes = entries.flatMap(({ detail }) => detailIn(detail).manifest_hash ?? []);
  return (await store.getMany("manifests", [...new Set(hashes)])).flatMap((stored) => stored?.value ?? []);
}
