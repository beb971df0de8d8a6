/**
 * Copies of contents that were erased: they go from every collection that may hold one, from files, and from what the store
 * keeps of records that are no more. Looked for twice, since an answer that was being made may have been kept after the first.
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
import { type Erased, withoutContent } from "./erased_answers.ts";
import { rewriteFiles } from "./erased_files.ts";
import { readRecords } from "../changes/records.ts";

/** So many are dealt with in a cycle; the records of those that wait are small. */
const AT_ONCE = 1000;
/** As many as a transaction may write. */
const SLICE = 50;
const PAGE = 100;
const ADAPTER_MS = 10_000;
/** Copies are looked for a second time, longer after the erasure than anything takes that began before it. */
const AGAIN_MS = 10 * 60 * 1000;
const LOOKS = 2;
/** A store is asked twice a day at most to remove what it keeps of what is no more: that may cost it a pass over everything. */
const EXPUNGE_MS = 12 * 3600 * 1000;
const LATE_MS = 24 * 3600 * 1000;

type Due = Stored<ErasureDue>;

/** Removes copies of the contents that were erased, and returns how many erasures are done. */
export async function finishErasures(deps: OperationsDeps): Promise<number> {
  const { store, clock, log } = deps;
  await rewriteFiles(deps);
  const now = clock.now();
  const due = await store.list("erasures_due", { limit: AT_ONCE });
  for (const { id, value } of due)
    if (now - value.at > LATE_MS) log.warn("copies of an erased content are not gone after a day", { change_id: id });
  const looks = due.filter(
    ({ value: { looked, at } }) => looked === 0 || (looked < LOOKS && isPast(at, now, AGAIN_MS)),
  );
  // What follows the log forgets by itself, and is to be done before the store is.
  if (looks.length > 0 && (await isFollowed(deps, looks))) {
    const removed = await sweep(deps, looks);
    await keep(deps, looks, ({ looked, kept, ...one }) => ({ ...one, looked: looked + 1, kept: kept || removed }));
  }
  return due.length === 0 ? 0 : expunge(deps, now);
}

/** Whether so much has gone by since; what is as far ahead was noted by a wrong clock, and is not waited for. */
const isPast = (since: number, now: number, ms: number): boolean => Math.abs(now - since) >= ms;

/** Has the store remove what it keeps of what is no more, if that is time, and settles what is done then. */
async function expunge(deps: OperationsDeps, now: number): Promise<number> {
  const { store } = deps;
  const due = await store.list("erasures_due", { limit: AT_ONCE });
  const last = (await store.get("meta", "expunged"))?.value.at ?? -Infinity;
  const isTime = store.expunge === undefined || isPast(last, now, EXPUNGE_MS);
  const ripe = due.filter(({ value: { looked, kept } }) => looked > 0 && kept && isTime);
  if (ripe.length > 0) {
    await store.expunge?.();
    await store.transact((tx) => tx.put("meta", "expunged", { at: now }));
  }
  const done = due.filter((one) => one.value.looked >= LOOKS && (!one.value.kept || ripe.includes(one)));
  await keep(deps, done, () => undefined);
  await keep(
    deps,
    ripe.filter((one) => !done.includes(one)),
    (one) => ({ ...one, kept: false }),
  );
  return done.length;
}

/** Puts erasures again as they are now; undefined: they are done. */
async function keep(
  { store }: OperationsDeps,
  due: readonly Due[],
  as: (one: ErasureDue) => ErasureDue | undefined,
): Promise<void> {
  for (let begin = 0; begin < due.length; begin += SLICE)
    await store.transact((tx) => {
      for (const { id, value } of due.slice(begin, begin + SLICE)) {
        const now = as(value);
        if (now) tx.put("erasures_due", id, now);
        else tx.delete("erasures_due", id);
      }
    });
}

async function isFollowed({ store }: OperationsDeps, due: readonly Due[]): Promise<boolean> {
  const cursors = await store.getMany("cursors", [memories.name, outcomes.name]);
  const newest = Math.max(...due.map(({ value }) => value.entry));
  return cursors.every((cursor) => cursor && !cursor.value.clearing && cursor.value.entry >= newest);
}

/** Whether there was any. */
async function sweep(deps: OperationsDeps, due: readonly Due[]): Promise<boolean> {
  const { store } = deps;
  let removed = false;
  const records = await readRecords(
    store,
    due.map(({ id }) => id),
  );
  const changes = records.flatMap((record) => (record ? [record.change as Change] : []));
  const erased: Erased = new Map(changes.map((change) => [change.change_id, change]));
  const messages = new Set(due.flatMap(({ value }) => value.message_id ?? []));
  const marks = [...erased.keys(), ...messages];
  const named = (text: string): string | undefined => [...erased.keys()].find((id) => text.includes(id));

  await each(deps, "chat", marks, (tx, id, turn) => {
    const about = turn.role === "assistant" ? named(JSON.stringify(turn)) : undefined;
    const isDrafting = turn.to !== undefined && messages.has(turn.to);
    if (about === undefined && !messages.has(turn.message_id) && !isDrafting) return;
    const text = `This message was erased with the content of ${about ?? "the change that it asked for"}.`;
    if (turn.text === text) return;
    tx.put("chat", id, { ...turn, text });
    removed = true;
  });
  await each(deps, "chat_drafts", marks, (tx, id, draft) => {
    if (!messages.has(draft.message_id) && !erased.has(draft.change_id ?? "")) return;
    removed = true;
    tx.delete("chat_drafts", id);
  });
  await each(deps, "tasks", marks, (tx, id, record) => {
    const about = named(record.task.result ?? "");
    if (about === undefined) return;
    const result = "This report was erased: it told of a change whose content was.";
    removed = true;
    tx.put("tasks", id, { ...record, task: { ...record.task, result } });
  });
  for (const source of ["memories", "chat_memories"] as const)
    await each(deps, source, marks, async (tx, id, memory) => {
      if (memory.ref === null || !messages.has(memory.ref)) return;
      removed = true;
      await forgetMemory(tx, source, id);
    });
  const places = changes.flatMap(listEntries).map(({ target }) => JSON.stringify(target));
  await each(deps, "idempotency", [...marks, ...places.map(escaped)], (tx, id, kept) => {
    const text = withoutContent(kept.answer.text, erased);
    if (text === kept.answer.text) return;
    removed = true;
    tx.put("idempotency", id, { ...kept, answer: { ...kept.answer, text } });
  });
  for (const operand of changes.flatMap(listOperands)) await forgetOnHost(deps, operand);
  return removed;
}

/** A target that no system covers any more holds up no other erasure. */
async function forgetOnHost({ product, log }: OperationsDeps, operand: Change): Promise<void> {
  try {
    await product?.adapter?.forget?.(operand, AbortSignal.timeout(ADAPTER_MS));
  } catch (error) {
    if (!(error instanceof NoTargetSystem)) throw error;
    const { change_id } = operand;
    log.warn("no target system can be asked to forget an erased content", { change_id, error: error.message });
  }
}

/** As it stands in JSON text that stands in JSON text itself. */
const escaped = (json: string): string => JSON.stringify(json).slice(1, -1);

/** Hands the records whose text holds one of the marks to a transaction each, as they are then. */
async function each<C extends SweptCollection>(
  { store }: OperationsDeps,
  collection: C,
  marks: readonly string[],
  change: (tx: Tx, id: string, record: CollectionRecord<C>) => void | Promise<void>,
): Promise<void> {
  for (let after = "", more = true; more;) {
    const page = await store.texts(collection, { after, limit: PAGE });
    for (const { id, text } of page) {
      if (!marks.some((mark) => text.includes(mark))) continue;
      await store.transact(async (tx) => {
        const found = await tx.get(collection, id);
        if (found) await change(tx, id, found.value);
      });
    }
    after = page.at(-1)?.id ?? after;
    more = page.length === PAGE;
  }
}
