/** Rewrites evolved files that quote erased contents. Each process has files of its own, and rewrites them. */
import { readRecords } from "../changes/records.ts";
import type { OperationsDeps } from "./deps.ts";
import { retrospectiveName } from "./evolved_files.ts";
import { quoteMarkdown } from "./markdown.ts";
import { writeRetrospective } from "./retrospective.ts";

/** The newest erasure for which this process has rewritten its files, by store. */
const rewrittenUpTo = new WeakMap<object, number>();

/** The text `[…]` of a link in a report, if its address leads to a change; the group is the id of that change. */
const LINK = /\[(?:\\.|[^\\\]])*\](?=\([^()\s]*#\/changes\/([^()\s]+)\))/g;

/** Writes the retrospectives of erased changes again, and replaces the summaries that reports quote. */
export async function rewriteErasedFiles({ evolved, ...deps }: OperationsDeps): Promise<void> {
  const { store } = deps;
  const newest = (await store.get("meta", "erased"))?.value.entry ?? 0;
  const lastErasure = rewrittenUpTo.get(store) ?? 0;
  if (!evolved || newest <= lastErasure) return;
  /** Returns the summaries of the changes that were erased since the last rewrite; an erasure replaces the summary by a placeholder. */
  const findErased = async (ids: readonly string[]): Promise<Map<string, string>> => {
    const records = await readRecords(store, ids);
    return new Map(
      records.flatMap((record) =>
        record?.change.erased && record.change.erased.entry > lastErasure
          ? [[record.change.change_id, record.change.summary]]
          : [],
      ),
    );
  };
  const files = await evolved.list();
  const listNames = (wantedKind: string): string[] =>
    files.flatMap(({ kind, name }) => (kind === wantedKind ? [name] : []));
  const ids = listNames("retrospective").map((name) => name.slice("retrospective-".length, -".md".length));
  for (const changeId of (await findErased(ids)).keys())
    await evolved.write(retrospectiveName(changeId), await writeRetrospective(deps, changeId));
  for (const name of listNames("report")) {
    const text = (await evolved.read(name)) ?? "";
    const linked = [...text.matchAll(LINK)].map(([, id]) => decodeURIComponent(id!));
    const erased = await findErased([...new Set(linked)]);
    if (erased.size === 0) continue;
    const redacted = text.replace(LINK, (linkText: string, id: string) => {
      const summary = erased.get(decodeURIComponent(id));
      return summary === undefined ? linkText : `[${quoteMarkdown(summary)}]`;
    });
    await evolved.write(name, redacted);
  }
  rewrittenUpTo.set(store, newest);
}
