/** Reads which commits other processes made. */
import type { PoolClient } from "pg";
import type { Writer } from "./batch.ts";
import { listRecords, WRITERS } from "./rows.ts";

/** Far more writers than are active in the week for which a writer's record is stored. */
const MAX_WRITERS = 10_000;

/** Reads the number of each other writer's last commit (the revision of its record), as one text to compare. */
export async function readOtherCommits(client: PoolClient, { store, id }: Writer): Promise<string> {
  const writers = await listRecords(client, store, WRITERS, { limit: MAX_WRITERS });
  const others = writers.filter((writer) => writer.id !== id);
  // A listing of ids alone has no revisions; this one has them.
  return others.map((writer) => `${writer.id} ${"revision" in writer ? writer.revision : ""}`).join();
}
