/**
 * Removes copies of erased contents: from every collection that may have one, from files, and from deleted records that the store
 * has not removed yet. Sweeps twice, since a request under way may have stored a copy after the first sweep.
 */
import { memories } from "../projections/memory.ts";
import { forgetMemory } from "../projections/memory.ts";
import { outcomes } from "../projections/outcomes.ts";
import type { ErasureDue } from "../changes/commands/erase.ts";
import { NoTargetSystem } from "../changes/operations/adapter_port.ts";
import { listEntries } from "../changes/rules/list_entries.ts";
import { listOperands } from "../changes/rules/operands.ts";
import type { Change } from "../changes/rules/change.ts";
import type { SweptCollection } from "../store/schema.ts";
import type { CollectionRecord, Stored, Tx } from "../store/store.ts";
import type { OperationsDeps } from "./deps.ts";
import { type ErasedChanges, removeErasedContent } from "./erased_answers.ts";
import { rewriteErasedFiles } from "./erased_files.ts";
import { readRecords } from "../changes/records.ts";

/** Maximum number of erasures that one cycle handles. */
const MAX_PER_CYCLE = 1000;
/** Records that one transaction writes. */
const MAX_WRITES = 50;
const PAGE_SIZE = 100;
const ADAPTER_MS = 10_000;
/** Time until the second sweep, when requests that began before the erasure have ended. */
const SECOND_SWEEP_MS = 10 * 60 * 1000;
const MAX_SWEEPS = 2;
/** A store removes deleted records at most twice a day, since that may require a pass over all records. */
const EXPUNGE_INTERVAL_MS = 12 * 3600 * 1000;
/** Time after which a warning is logged. */
const LATE_MS = 24 * 3600 * 1000;

/** An erasure: `looked` counts its sweeps, `kept` is true while the store may have copies of records that they deleted. */
type Due = Stored<ErasureDue>;

/** Removes copies of erased contents, and returns the number of completed erasures. */
export async function finishErasures(deps: OperationsDeps): Promise<number> {
  const { store, clock, log } = deps;
  await rewriteErasedFiles(deps);
  const now = clock.now();
  const due = await store.list("erasures_due", { limit: MAX_PER_CYCLE });
  for (const { id, value } of due)
    if (now - value.at > LATE_MS) log.warn("copies of an erased content are not gone after a day", { change_id: id });
  const ready = due.filter(
    ({ value: { looked, at } }) => looked === 0 || (looked < MAX_SWEEPS && isOver(at, now, SECOND_SWEEP_MS)),
  );
  // Projections remove erased contents themselves, and must have done so before the sweep.
  if (ready.length > 0 && (await isProjected(deps, ready))) {
    const removed = await sweep(deps, ready);
    await updateErasures(deps, ready, (erasure) => ({
      ...erasure,
      looked: erasure.looked + 1,
      kept: erasure.kept || removed,
    }));
  }
  return due.length === 0 ? 0 : expunge(deps, now);
}

/** Returns true if `ms` have passed since `since`. A `since` that far in the future came from a wrong clock, and counts too. */
const isOver = (since: number, now: number, ms: number): boolean => Math.abs(now - since) >= ms;

/** Has the store remove deleted records if that is due, and returns the number of completed erasures. */
async function expunge(deps: OperationsDeps, now: number): Promise<number> {
  const { store } = deps;
  const due = await store.list("erasures_due", { limit: MAX_PER_CYCLE });
  const last = (await store.get("meta", "expunged"))?.value.at ?? -Infinity;
  // A store without `expunge` leaves nothing to remove.
  const isTime = store.expunge === undefined || isOver(last, now, EXPUNGE_INTERVAL_MS);
  const expungeable = due.filter(({ value }) => value.looked > 0 && value.kept && isTime);
  if (expungeable.length > 0) {
    await store.expunge?.();
    await store.transact((tx) => tx.put("meta", "expunged", { at: now }));
  }
  const completed = due.filter(
    (erasure) => erasure.value.looked >= MAX_SWEEPS && (!erasure.value.kept || expungeable.includes(erasure)),
  );
  await updateErasures(deps, completed, () => undefined);
  await updateErasures(
    deps,
    expungeable.filter((erasure) => !completed.includes(erasure)),
    (erasure) => ({ ...erasure, kept: false }),
  );
  return completed.length;
}

/** Updates erasures; those for which `update` returns undefined are removed as completed. */
async function updateErasures(
  { store }: OperationsDeps,
  due: readonly Due[],
  update: (erasure: ErasureDue) => ErasureDue | undefined,
): Promise<void> {
  for (let begin = 0; begin < due.length; begin += MAX_WRITES)
    await store.transact((tx) => {
      for (const { id, value } of due.slice(begin, begin + MAX_WRITES)) {
        const updated = update(value);
        if (updated) tx.put("erasures_due", id, updated);
        else tx.delete("erasures_due", id);
      }
    });
}

async function isProjected({ store }: OperationsDeps, due: readonly Due[]): Promise<boolean> {
  const cursors = await store.getMany("cursors", [memories.name, outcomes.name]);
  const newest = Math.max(...due.map(({ value }) => value.entry));
  return cursors.every((cursor) => cursor && !cursor.value.clearing && cursor.value.entry >= newest);
}

/** Removes copies from all collections, and returns true if there were any. */
async function sweep(deps: OperationsDeps, due: readonly Due[]): Promise<boolean> {
  const { store } = deps;
  let removed = false;
  const records = await readRecords(
    store,
    due.map(({ id }) => id),
  );
  const changes = records.flatMap((record) => (record ? [record.change as Change] : []));
  const erased: ErasedChanges = new Map(changes.map((change) => [change.change_id, change]));
  const messages = new Set(due.flatMap(({ value }) => value.message_id ?? []));
  const searchTexts = [...erased.keys(), ...messages];
  const findNamedChange = (text: string): string | undefined => [...erased.keys()].find((id) => text.includes(id));

  await rewriteMatching(deps, "chat", searchTexts, (tx, id, message) => {
    // Erased are the message that asked for the change, the reply to it, and all replies that name the change.
    const about = message.role === "assistant" ? findNamedChange(JSON.stringify(message)) : undefined;
    const isDrafting = message.to !== undefined && messages.has(message.to);
    if (about === undefined && !messages.has(message.message_id) && !isDrafting) return;
    const text = `This message was erased with the content of ${about ?? "the change that it asked for"}.`;
    if (message.text === text) return;
    tx.put("chat", id, { ...message, text });
    removed = true;
  });
  await rewriteMatching(deps, "chat_drafts", searchTexts, (tx, id, draft) => {
    if (!messages.has(draft.message_id) && !erased.has(draft.change_id ?? "")) return;
    removed = true;
    tx.delete("chat_drafts", id);
  });
  await rewriteMatching(deps, "tasks", searchTexts, (tx, id, record) => {
    const about = findNamedChange(record.task.result ?? "");
    if (about === undefined) return;
    const result = "This report was erased: it described a change whose content was erased.";
    removed = true;
    tx.put("tasks", id, { ...record, task: { ...record.task, result } });
  });
  for (const source of ["memories", "chat_memories"] as const)
    await rewriteMatching(deps, source, searchTexts, async (tx, id, memory) => {
      if (memory.ref === null || !messages.has(memory.ref)) return;
      removed = true;
      await forgetMemory(tx, source, id);
    });
  // A stored answer is JSON text within the JSON of its record, so its quotation marks are escaped.
  const targets = changes.flatMap(listEntries).map(({ target }) => JSON.stringify(target));
  await rewriteMatching(deps, "idempotency", [...searchTexts, ...targets.map(escapeJson)], (tx, id, storedAnswer) => {
    const text = removeErasedContent(storedAnswer.answer.text, erased);
    if (text === storedAnswer.answer.text) return;
    removed = true;
    tx.put("idempotency", id, { ...storedAnswer, answer: { ...storedAnswer.answer, text } });
  });
  for (const operand of changes.flatMap(listOperands)) await forgetOnHost(deps, operand);
  return removed;
}

/** Asks the target system to forget a content. A target that no system covers any more delays no other erasure. */
async function forgetOnHost({ product, log }: OperationsDeps, operand: Change): Promise<void> {
  try {
    await product?.adapter?.forget?.(operand, AbortSignal.timeout(ADAPTER_MS));
  } catch (error) {
    if (!(error instanceof NoTargetSystem)) throw error;
    const { change_id } = operand;
    log.warn("no target system can be asked to forget an erased content", { change_id, error: error.message });
  }
}

/** Escapes JSON text as part of a JSON string. */
const escapeJson = (json: string): string => JSON.stringify(json).slice(1, -1);

/** Runs a transaction with each record whose text contains one of `searchTexts`. */
async function rewriteMatching<C extends SweptCollection>(
  { store }: OperationsDeps,
  collection: C,
  searchTexts: readonly string[],
  change: (tx: Tx, id: string, record: CollectionRecord<C>) => void | Promise<void>,
): Promise<void> {
  for (let after = "", more = true; more;) {
    const page = await store.texts(collection, { after, limit: PAGE_SIZE });
    for (const { id, text } of page) {
      if (!searchTexts.some((searchText) => text.includes(searchText))) continue;
      await store.transact(async (tx) => {
        const record = await tx.get(collection, id);
        if (record) await change(tx, id, record.value);
      });
    }
    after = page.at(-1)?.id ?? after;
    more = page.length === PAGE_SIZE;
  }
}
