/**
 * A certificate: one text file that proves without the service who consented to which content, under which rules. Its parts are the
 * content, each intent that a decision was made under, and each deciding entry in a C2SP `tlog-proof`.
 */
import { type Checkpoint, readCheckpoint } from "../audit/checkpoint.ts";
import { readHead } from "../audit/chain.ts";
import { type AuditEntry, entryLine } from "../audit/entry.ts";
import { readEntriesById } from "../audit/page.ts";
import { computeInclusionPath, runWithCompleteTree } from "../audit/prove.ts";
import type { NodeReader } from "../audit/merkle.ts";
import { createNodeReader } from "../audit/tree.ts";
import { openTreeView } from "../audit/tree_view.ts";
import {
  findMostCosigned,
  appendCosignatures,
  type WitnessDeps,
  readWitnessStates,
} from "../audit/request_cosignatures.ts";
import { toBase64 } from "../kit/base64.ts";
import { AppError } from "../kit/errors.ts";
import { once } from "../kit/once.ts";
import type { Reads } from "../store/store.ts";
import { readMandateEntries } from "./mandates/read_mandate.ts";
import { consultLog } from "./evidence.ts";
import { requireIntactChain } from "./run_with_log.ts";
import { findVisibleChange } from "./read_scope.ts";
import type { Change } from "./rules/change.ts";
import { canonicalContent, contentDigest } from "./rules/content.ts";
import { parseDetail } from "./rules/event.ts";
import { isOpenChange } from "./rules/current_state.ts";

/** Event types of decisions; failed attempts and findings about the host product are not decisions. */
const DECISION_EVENTS: readonly string[] = [
  "change_proposed",
  "consent_decision",
  "change_applied",
  "emergency_reviewed",
  "change_rolled_back",
  "stage_advanced",
  "stage_held",
  "stage_resumed",
  "stage_stopped",
  "content_erased",
];

/**
 * Makes the certificate of a change in its current state; every entry is proven to be under one checkpoint. Errors: 404
 * `change_not_found`, 409 `approval_stale` if the content is not the one that was proposed, 503 `chain_broken` or
 * `store_unavailable` if no checkpoint covers its entries.
 */
export async function makeCertificate(deps: WitnessDeps, changeId: string): Promise<string> {
  // The record is read before the checkpoint, which therefore covers all its entries.
  const { change, audit } = await findVisibleChange(deps, changeId);
  return createCertifier(deps)({ change, entries: await readEntriesById(deps.store, audit) });
}

/** A change with all its entries. */
export interface RecordedChange {
  change: Change;
  entries: readonly AuditEntry[];
}

/**
 * Creates a function that makes certificates one after the other and reads checkpoint, tree and intents only once.
 * `withIntents: false` leaves the intents out, for a pack that has them as files.
 */
export function createCertifier(
  deps: WitnessDeps,
  { withIntents = true }: { withIntents?: boolean } = {},
): (recorded: RecordedChange) => Promise<string> {
  const { store, sha256 } = deps;
  const findCheckpoint = createCheckpointFinder(deps);
  const readManifests = createManifestReader(store);
  /** Id of the last entry that accepted a loss of the log's end, 0 without one: `loss.length` counts the log up to that entry. */
  const readLastLossId = once(async () => (await readHead(store))?.loss?.length ?? 0);
  const view = once(() => openTreeView(store));
  let nodeReader: NodeReader | undefined;
  return async ({ change, entries: allEntries }) => {
    const { change_id } = change;
    const decisions = allEntries.filter(({ event_type }) => DECISION_EVENTS.includes(event_type));
    if (decisions[0] === undefined || findLoggedDigest(decisions) !== contentDigest(change, sha256))
      throw new AppError(
        "approval_stale",
        `the content of ${change_id} is not what was proposed; no certificate is made of it`,
      );
    const mandates = await listMandateEntries(deps, decisions);
    const losses = await listRelevantLosses(deps, change, [...mandates, ...decisions], await readLastLossId());
    const entries = [...decisions, ...losses, ...mandates].sort((a, b) => a.id - b.id);
    const last = entries.at(-1)!.id;
    const { length, note } = await findCheckpoint(last);
    if (length < last) throw createNotCoveredError(deps, change_id, length);
    const proofs = await runWithCompleteTree(
      deps,
      (reads) => {
        const readNode = (nodeReader ??= createNodeReader(reads));
        return Promise.all(
          entries.map(async (entry) =>
            formatProof(entry, await computeInclusionPath(reads, entry.id, length, readNode), note),
          ),
        ).catch((error: unknown) => {
          // If the tree was incomplete, `runWithCompleteTree` completes it and reads again, with a new reader.
          nodeReader = undefined;
          throw error;
        });
      },
      await view(),
    );
    const manifests = withIntents ? await readManifests(entries) : [];
    return [
      "countersign-certificate/v1\n",
      formatPart(change.erased ? "erased" : "content", `${canonicalContent(change)}\n`),
      ...manifests.map((manifest) => formatPart("intent", `${manifest}\n`)),
      ...proofs.map((proof) => formatPart("proof", proof)),
    ].join("");
  };
}

/**
 * Lists the accepted losses of the log's end that invalidated consents of a change; `entries`: those of its mandates, then its
 * decisions. The range starts at the first of them. It ends at the apply, or at the last decision if there is no apply; it has no
 * end while the change is pending or approved.
 */
async function listRelevantLosses(
  deps: WitnessDeps,
  { status }: Change,
  entries: readonly AuditEntry[],
  lastLossId: number,
): Promise<AuditEntry[]> {
  const first = entries[0]!.id;
  if (lastLossId < first) return [];
  // `consultLog` needs the index, which is missing if the start found a breach.
  if (!deps.integrity.logIndex) requireIntactChain(deps.integrity.breach);
  const applied = entries.find(({ event_type }) => event_type === "change_applied");
  const end = isOpenChange(status) ? Infinity : (applied ?? entries.at(-1)!).id;
  const losses = await consultLog(deps, (evidence) => evidence.entriesOfType("loss_accepted", first));
  return losses.filter(({ id }) => id < end);
}

/** Lists the entries of the mandates that approved a change, up to the last decision on the change, as the log has them. */
async function listMandateEntries(deps: WitnessDeps, decisions: readonly AuditEntry[]): Promise<AuditEntry[]> {
  const ids = new Set(decisions.flatMap(({ detail }) => parseDetail(detail).mandate?.mandate_id ?? []));
  if (ids.size === 0) return [];
  // As in `listRelevantLosses`.
  if (!deps.integrity.logIndex) requireIntactChain(deps.integrity.breach);
  const last = decisions.at(-1)!.id;
  const entriesByMandate = await consultLog(deps, (evidence) =>
    Promise.all([...ids].map((id) => readMandateEntries({ tx: deps.store, evidence }, id))),
  );
  return entriesByMandate
    .flat()
    .filter(({ id }) => id <= last)
    .sort((a, b) => a.id - b.id);
}

/** Finds the digest of the current content in the entries: of the proposed content, or of the fields that an erasure left. */
function findLoggedDigest(entries: readonly AuditEntry[]): string | undefined {
  const erased = entries.find(({ event_type }) => event_type === "content_erased");
  const { digest, remaining_digest } = parseDetail((erased ?? entries[0]!).detail);
  return erased ? remaining_digest : digest;
}

/** Creates a function that finds a checkpoint over an entry: the one with the most cosignatures, else the log's own. */
function createCheckpointFinder(deps: WitnessDeps): (entry: number) => Promise<Checkpoint> {
  const readWitnesses = once(() => readWitnessStates(deps));
  let uncosigned: Checkpoint | undefined;
  return async (entry) => {
    const witnesses = await readWitnesses();
    const cosigned = findMostCosigned(witnesses, entry);
    if (!cosigned && (uncosigned?.length ?? 0) < entry) uncosigned = await readCheckpoint(deps);
    const checkpoint = cosigned ?? uncosigned!;
    return { ...checkpoint, note: appendCosignatures(checkpoint.note, witnesses) };
  };
}

/** Creates the error for a missing checkpoint: none is made while the log is broken or another process signs. */
function createNotCoveredError(
  { integrity: { breach, displaced } }: WitnessDeps,
  changeId: string,
  length: number,
): AppError {
  const problem = `the last checkpoint, of ${length} entries, does not cover ${changeId}`;
  if (breach) return new AppError("chain_broken", `${problem}, and none is made of a broken log`, { ...breach });
  return new AppError("store_unavailable", `${problem}; ${displaced ?? "ask again"}`);
}

const formatPart = (name: string, text: string): string => `${name} ${new TextEncoder().encode(text).length}\n${text}`;

/** Formats a C2SP `tlog-proof@v1`. The leaf is the entry's `current_hash`; `extra` is the entry without its line break. */
function formatProof(entry: AuditEntry, hashes: readonly string[], checkpoint: string): string {
  const extra = toBase64(new TextEncoder().encode(entryLine(JSON.stringify(entry)).slice(0, -1)));
  const lines = ["c2sp.org/tlog-proof@v1", `extra ${extra}`, `index ${entry.id - 1}`, ...hashes, "", checkpoint];
  return lines.join("\n");
}

/** Creates a function that reads the intents of decisions, in the order of the entries, as far as the store has them. */
function createManifestReader(store: Pick<Reads, "getMany">): (entries: readonly AuditEntry[]) => Promise<string[]> {
  let manifests = new Map<string, string | undefined>();
  return async (entries) => {
    const hashes = [...new Set(entries.flatMap(({ detail }) => parseDetail(detail).manifest_hash ?? []))];
    if (hashes.some((hash) => !manifests.has(hash))) {
      const stored = await store.getMany("manifests", hashes);
      // Only the intents of the last change are cached, since a log may have any number of intents.
      manifests = new Map(hashes.map((hash, index) => [hash, stored[index]?.value]));
    }
    return hashes.flatMap((hash) => manifests.get(hash) ?? []);
  };
}
