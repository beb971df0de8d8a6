/** Commits of other processes on a store. */
import type { PoolClient } from "pg";
import type { Writer } from "./batch.ts";
import { listRecords, WRITERS } from "./rows.ts";

/** More than this do not write within the days that a writer is kept. */
const MAX_WRITERS = 10_000;

/** The number of each other writer's last commit. */
export async function readOtherCommits(client: PoolClient, { store, id }: Writer): Promise<string> {
  const writers = await listRecords(client, store, WRITERS, { limit: MAX_WRITERS });
  const others = writers.filter((writer) => writer.id !== id);
  return others.map((writer) => `${writer.id} ${"revision" in writer ? writer.revision : ""}`).join();
}
