/** Removes erased contents from stored answers to idempotent requests. */
import type { Change } from "../changes/rules/change.ts";
import { ERASED_FIELDS } from "../changes/rules/erasure.ts";
import { type ChangeEntry, listEntries } from "../changes/rules/list_entries.ts";
import { isSameTarget } from "../changes/rules/target_key.ts";

/** Changes with erased content in their current state, by id. */
export type ErasedChanges = ReadonlyMap<string, Change>;

/** Returns the JSON text of an answer without erased contents, and without previews of values of their targets. */
export function removeErasedContent(text: string, erased: ErasedChanges): string {
  const answer: unknown = JSON.parse(text);
  const changed = redact(answer, erased);
  return changed === answer ? text : JSON.stringify(changed);
}

type Members = Record<string, unknown>;

/** Redacts erased contents in a JSON value; returns the same object if there are none. */
function redact(value: unknown, erased: ErasedChanges): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => redact(item, erased));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const members = Object.entries(value).map(([name, member]) => [name, redact(member, erased)] as const);
  const isUnchanged = members.every(([name, member]) => member === (value as Members)[name]);
  const object = isUnchanged ? (value as Members) : Object.fromEntries(members);
  return removePreview(redactChange(object, erased), erased);
}

/**
 * Replaces erased fields of a change by their current values, and removes its `value`: an erased change has none, and placeholders
 * in the other fields.
 */
function redactChange(object: Members, erased: ErasedChanges): Members {
  const change = erased.get(String(object["change_id"]));
  if (!change) return object;
  const erasedFields = ERASED_FIELDS.filter(
    (field) => field in object && JSON.stringify(object[field]) !== JSON.stringify(change[field]),
  );
  if (erasedFields.length === 0) return object;
  const { value: _, ...rest } = object;
  return {
    ...rest,
    ...Object.fromEntries(erasedFields.filter((field) => field !== "value").map((field) => [field, change[field]])),
  };
}

/** Removes the preview of a dry run, which may show the value of an erased change. */
function removePreview(object: Members, erased: ErasedChanges): Members {
  const { adapter, change } = object as { adapter?: Members | null; change?: Partial<Change> };
  if (!adapter || !("preview" in adapter) || !change) return object;
  const previewed = isChangeEntry(change) ? listEntries(change) : [];
  const showsErased = [...erased.values()].some((erasedChange) =>
    listEntries(erasedChange).some((entry) => previewed.some((other) => isSameTarget(other, entry))),
  );
  if (!showsErased) return object;
  const { preview: _, ...rest } = adapter;
  return { ...object, adapter: rest };
}

const isChangeEntry = (change: Partial<Change>): change is ChangeEntry =>
  typeof change.target === "string" && typeof change.tenant_id === "string";
