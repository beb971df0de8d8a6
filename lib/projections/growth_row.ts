/** A row of the growth log: what the service noticed, for people. Bounded; it is not the audit chain. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import type { Tx } from "../store/store.ts";
import { push, type Ring, ringKey, seqAt } from "./ring.ts";

declare module "../store/store.ts" {
  interface Collections {
    growth_rows: GrowthRow;
    growth_rows_kinds: true;
    outcome_rows: GrowthRow;
    notices: GrowthRow;
    notices_kinds: true;
  }
}

/** The oldest rows of a source go first. */
export const ROWS_KEPT = 10_000;

/** One row; `ref` names the record it is about. Its place is an entry of the log, and its number a million times that. */
export const growthSchema = once(() =>
  z
    .object({
      seq: z.number().int().describe("Its number; rises, with gaps."),
      at: z.string().meta({ description: "When it was noticed.", format: "date-time" }),
      tick: z.number().int().describe("The cycle in which it was noticed."),
      kind: z.string().meta({ description: "What sort of thing.", examples: ["drift"] }),
      title: z.string().meta({
        description: "What was noticed, in a sentence.",
        examples: [
          "“Raise the seat limit” (limits.seats for tenant t1): drifted, the host product shows another value",
        ],
      }),
      detail: z.string().meta({ description: "More of it; may be empty.", examples: ["Outage of the mail provider."] }),
      ref: z
        .string()
        .nullable()
        .meta({
          description: "Id of the record it is about; null when about none.",
          examples: ["chg_019a8f3e-6c1e-7b44-9d52-3e8a17c0b6f1"],
        }),
    })
    .describe("What the service noticed, for people."),
);
export type GrowthRow = z.infer<ReturnType<typeof growthSchema>>;

/** What is told, before it has a place. */
export type Notice = Omit<GrowthRow, "seq" | "tick" | "ref"> & { ref?: string | null };

/** Where rows lie: made of entries, made of outcomes, or noticed without either. Those of one place stand in this order. */
export const SOURCES = ["growth_rows", "outcome_rows", "notices"] as const;
export type RowSource = (typeof SOURCES)[number];

const FIRST: Readonly<Record<RowSource, number>> = { growth_rows: 0, outcome_rows: 100_000, notices: 900_000 };

/** The kind of all rows that are made of outcomes; rows of the other sources are found by theirs in `<source>_kinds`. */
export const OUTCOME_KIND = "outcome";

/** The place of a row among those of its kind; they are told apart by a line break, which no kind has. */
export const kindKey = (kind: string, seq: number): string => `${kind}\n${ringKey(seq)}`;

/** The id of the entry that a row was made of; undefined for one that was made of anything else. */
export const entryOf = ({ seq }: Pick<GrowthRow, "seq">): number | undefined =>
  seq % seqAt(1) < FIRST.outcome_rows ? Math.floor(seq / seqAt(1)) : undefined;

/** Adds a row at a place of the log, and resolves with the ring then. */
export async function addRow(
  tx: Tx,
  source: RowSource,
  ring: Ring | undefined,
  { position, tick }: { position: number; tick: number },
  notice: Notice,
): Promise<Ring> {
  const row = (seq: number): GrowthRow => ({ ref: null, ...notice, seq, tick });
  const bounds = { most: ROWS_KEPT, least: seqAt(position) + FIRST[source] };
  if (source === "outcome_rows") return push(tx, source, ring, row, bounds);
  const after = await push(tx, source, ring, row, {
    ...bounds,
    gone: ({ value: { kind, seq } }) => tx.delete(`${source}_kinds`, kindKey(kind, seq)),
  });
  tx.put(`${source}_kinds`, kindKey(notice.kind, after.seq), true);
  return after;
}
