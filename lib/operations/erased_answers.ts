/** Answers that are kept to be given again, without contents that were erased since. */
import type { Change } from "../changes/rules/change.ts";
import { ERASED_FIELDS } from "../changes/rules/erasure.ts";
import { type ChangeEntry, listEntries } from "../changes/rules/list_entries.ts";
import { isSameTarget } from "../changes/rules/target_key.ts";

/** Changes as they are now, by their ids: what they do not hold any more is erased. */
export type ErasedChanges = ReadonlyMap<string, Change>;

/** The JSON text of an answer with what is left of the contents, and without previews of what their targets held. */
export function removeErasedContent(text: string, erased: ErasedChanges): string {
  const answer: unknown = JSON.parse(text);
  const changed = redact(answer, erased);
  return changed === answer ? text : JSON.stringify(changed);
}

type Members = Record<string, unknown>;

/** The same object where nothing is to be taken out of it. */
function redact(value: unknown, erased: ErasedChanges): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => redact(item, erased));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const members = Object.entries(value).map(([name, member]) => [name, redact(member, erased)] as const);
  const same = members.every(([name, member]) => member === (value as Members)[name]);
  const object = same ? (value as Members) : Object.fromEntries(members);
  return removePreview(redactChange(object, erased), erased);
}

/** A change, or a part of one, as it is now. */
function redactChange(object: Members, erased: ErasedChanges): Members {
  const change = erased.get(String(object["change_id"]));
  const erasedFields = ERASED_FIELDS.filter(
    (field) => field in object && JSON.stringify(object[field]) !== JSON.stringify(change?.[field]),
  );
  if (!change || erasedFields.length === 0) return object;
  const { value: _, ...rest } = object;
  return {
    ...rest,
    ...Object.fromEntries(erasedFields.filter((field) => field !== "value").map((field) => [field, change[field]])),
  };
}

/** A dry run shows the value of the target, which may come from an erased change. */
function removePreview(object: Members, erased: ErasedChanges): Members {
  const { adapter, change } = object as { adapter?: Members | null; change?: Partial<Change> };
  if (!adapter || !("preview" in adapter) || !change) return object;
  const shown = isChangeEntry(change) ? listEntries(change) : [];
  const isThere = [...erased.values()].some((one) =>
    listEntries(one).some((entry) => shown.some((shownEntry) => isSameTarget(shownEntry, entry))),
  );
  if (!isThere) return object;
  const { preview: _, ...rest } = adapter;
  return { ...object, adapter: rest };
}

const isChangeEntry = (change: Partial<Change>): change is ChangeEntry =>
  typeof change.target === "string" && typeof change.tenant_id === "string";
