/** Evolved files that tell of erased contents. Files lie with each process: each rewrites its own. */
import type { Change } from "../governance/rules/change.ts";
import { readRecords } from "../governance/records.ts";
import type { PulseDeps } from "./deps.ts";
import { retrospectiveName } from "./learning.ts";
import { retrospectiveOf } from "./learning/retrospective.ts";
import { code } from "./markdown.ts";
import { reworded } from "./picture/svg.ts";

/** The newest erasure up to which this process has rewritten its files. */
const rewritten = new WeakMap<object, number>();

/** Writes retrospectives anew with what is left of the content, and takes the lines that quote it out of reports and their pictures. */
export async function rewriteFiles({ evolved, ...deps }: PulseDeps): Promise<void> {
  const { store } = deps;
  const newest = (await store.get("meta", "erased"))?.value.entry ?? 0;
  const seen = rewritten.get(store) ?? 0;
  if (!evolved || newest <= seen) return;
  const erasedOf = async (ids: readonly string[]): Promise<Change[]> =>
    (await readRecords(store, ids)).flatMap((record) =>
      record?.change.erased && record.change.erased.entry > seen ? [record.change as Change] : [],
    );
  const files = await evolved.list();
  const namesOf = (wanted: string): string[] => files.flatMap(({ kind, name }) => (kind === wanted ? [name] : []));
  const ids = namesOf("retrospective").map((name) => name.slice("retrospective-".length, -".md".length));
  for (const { change_id } of await erasedOf(ids))
    await evolved.write(retrospectiveName(change_id), await retrospectiveOf(deps, change_id));
  for (const name of namesOf("report")) {
    const text = (await evolved.read(name)) ?? "";
    const erased = await erasedOf([...new Set(text.match(/\bchg_[\w-]+/g))]);
    const without = name.endsWith(".svg") ? withoutWordsOn : withoutLinesOn;
    if (erased.length > 0) await evolved.write(name, without(erased, text));
  }
  rewritten.set(store, newest);
}

/** In a picture the marks stay where they are: when something was applied is in the log. */
const withoutWordsOn = (erased: readonly Change[], picture: string): string =>
  erased.reduce(
    (text, { change_id }) =>
      text
        .split("\n")
        .map((line) => reworded(line, change_id, "its content was erased"))
        .join("\n"),
    picture,
  );

/** Each line that names such a change says no more than that. */
const withoutLinesOn = (erased: readonly Change[], text: string): string =>
  text
    .split("\n")
    .map((line) => {
      const change = erased.find(({ change_id }) => line.includes(change_id));
      return change ? `- ${code(change.change_id)}: its content was erased` : line;
    })
    .join("\n");
