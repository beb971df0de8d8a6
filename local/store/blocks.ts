/** The blocks of `state.json`: the hot collections, and the fields of the record that a block embeds. */
import type { Layout } from "../../lib/store/collections.ts";
import type { Version } from "../../lib/store/engine/write_set.ts";
import { StoreDamaged } from "./damage.ts";
import type { Hot } from "./durable.ts";
import type { Snapshot } from "./snapshot.ts";

const valueOf = (version: Version): unknown => JSON.parse(version.text!);

/** Each block as an object: the embedded fields, then its collections as objects by id. */
export function blocksOf(layout: Layout, hot: Hot): Record<string, object> {
  const blocks = Object.entries(layout.blocks).map(([block, collections]) => {
    const shown = collections.map((name) => {
      const page = hot.get(name)!.page({ limit: Infinity });
      return [name, Object.fromEntries(page.map(([id, version]) => [id, valueOf(version)]))] as const;
    });
    return [block, { ...embeddedIn(layout, hot, block), ...Object.fromEntries(shown) }] as const;
  });
  return Object.fromEntries(blocks);
}

function embeddedIn({ embedded }: Layout, hot: Hot, block: string): Record<string, unknown> {
  const [collection, id] = embedded[block] ?? [];
  const version = id === undefined ? undefined : hot.get(collection!)?.get(id);
  return version ? (valueOf(version) as Record<string, unknown>) : {};
}

/** A state file whose block names another product than the journal was not written with it. Errors: `StoreDamaged`. */
export function checkProduct(layout: Layout, hot: Hot, snapshot: Snapshot, path: string): void {
  for (const block of Object.keys(layout.embedded)) {
    const told = (snapshot[block] as { product_id?: unknown } | undefined)?.product_id;
    const kept = embeddedIn(layout, hot, block).product_id;
    if (told !== undefined && kept !== undefined && told !== kept)
      throw new StoreDamaged(
        path,
        0,
        `its product_id is ${JSON.stringify(told)}, in the journal it is ${JSON.stringify(kept)}`,
        "Put back the file that belongs beside the journal.",
      );
  }
}
