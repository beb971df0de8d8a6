/** A log that does not hold: told to every process on its store, until a restart finds it mended. */
import type { Reads } from "../store/store.ts";
import type { AuditDeps } from "./deps.ts";
import type { Breach } from "./integrity.ts";
import type { End } from "./outline.ts";

declare module "../store/store.ts" {
  interface Meta {
    breach: KeptBreach;
  }
}

/** `meta/breach`; `known`: how far whoever found it had read the log; `noticed`: people were told of it. */
interface KeptBreach extends Breach {
  known: End | null;
  noticed?: true;
}

type Telling = Pick<AuditDeps, "store" | "integrity" | "log">;

/** Keeps a breach, so that writes are refused from here on, by every process. */
export async function reportBreach({ store, integrity, log }: Telling, breach: Breach): Promise<void> {
  if (integrity.breach) return;
  log.error("audit chain broken", { ...breach });
  integrity.breach = breach;
  const known = integrity.outline?.durable ?? null;
  try {
    await store.transact(async (tx) => {
      if (!(await tx.get("meta", "breach"))) tx.put("meta", "breach", { ...breach, known });
    });
  } catch (error) {
    // This process refuses writes all the same.
    log.warn("the breach was not told to other processes", { error: String(error) });
  }
}

/** Learns of a breach that another process found. */
export async function learnOfBreach(
  { integrity }: Pick<AuditDeps, "integrity">,
  reads: Pick<Reads, "get">,
): Promise<void> {
  if (integrity.breach) return;
  const kept = (await reads.get("meta", "breach"))?.value;
  if (!kept) return;
  const { first_invalid, reason } = kept;
  integrity.breach = { first_invalid, reason };
}
