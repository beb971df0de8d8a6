/** Runs a query over all changes: exact counts, a page of rows, groups and durations. */
import { outcomes } from "../projections/outcomes.ts";
import { readProjection } from "../projections/snapshot.ts";
import type { ChangesDeps } from "../changes/deps.ts";
import type { DriftEpisode } from "../changes/drift.ts";
import { parseRecord } from "../changes/rules/stored_record.ts";
import { canRead } from "../changes/rules/reader.ts";
import { isRecord } from "../changes/rules/record.ts";
import { invalidField } from "../kit/errors.ts";
import { PAGE_BYTES } from "../kit/gather.ts";
import { runWithScanLimit } from "../kit/semaphore.ts";
import { measureOutcomes } from "../projections/outcomes/measure.ts";
import { type FindAnswer, type FindRow, toFindRow } from "./answer.ts";
import { type Rows, readCurrentRows, readSlices } from "./change_index.ts";
import { requireKnownNames } from "./completion.ts";
import type { Context } from "./fields.ts";
import { countGroups, type Counts, sortGroups } from "./groups.ts";
import { createComparator } from "./order.ts";
import { parseQuery, type Query } from "./parse.ts";
import { countTerm, containsWord, Ranking } from "./rank.ts";
import { type FoundRow, type Row, makeRow, listTimes, showRowsAtTime } from "./row.ts";
import { listRecords } from "../store/pages.ts";

/** Options of a query. */
export interface RunOptions {
  limit: number;
  /** Id of the last row of the previous page. */
  after?: string | undefined;
  /** Name of the request's field that contains `after`, for errors. */
  cursorField?: "after" | "before" | undefined;
  zone: string;
  caller: string | null;
  /** `any`: a row must contain one of the free words; otherwise all of them. */
  words?: "all" | "any" | undefined;
  /** A further condition that rows must meet. */
  where?: ((row: Row) => boolean) | undefined;
}

/** Exceeds every score of a row, so that the number of its words counts first. */
const MAX_SCORE = 10_000;

/** Runs a query. Errors: 400 `invalid_field` for an unrecorded name and for an unknown `after`. */
export async function runQuery(deps: ChangesDeps, query: Query, options: RunOptions): Promise<FindAnswer> {
  return runWithScanLimit(deps.store, async () => {
    const all = await readCurrentRows(deps);
    await requireKnownNames(deps, all, query, options.caller);
    return new QueryRun(deps, all, query, options).answer();
  });
}

/** Returns the first rows of a query of the service itself, without a caller. */
export async function findRows(
  deps: ChangesDeps,
  text: string,
  { zone, limit }: Pick<RunOptions, "zone" | "limit">,
): Promise<FindRow[]> {
  const query = parseQuery(text, { now: deps.clock.now(), zone });
  return (await runQuery(deps, query, { limit, zone, caller: null })).rows;
}

/** One run of a query. */
class QueryRun {
  readonly #terms: readonly string[];
  readonly #ranking: Ranking;
  #drift: ReadonlyMap<string, DriftEpisode> = new Map();
  /** `drifted` and `verdicts` are empty until they are read. */
  #context: Context;

  constructor(
    readonly deps: ChangesDeps,
    readonly all: Rows,
    readonly query: Query,
    readonly options: RunOptions,
  ) {
    const { zone, caller } = options;
    this.#terms = [...new Set(query.words.flatMap(({ negated, terms }) => (negated ? [] : terms)))];
    this.#ranking = new Ranking(this.#terms);
    const { intent } = deps.product!;
    this.#context = { now: deps.clock.now(), zone, intent, caller, drifted: new Set(), verdicts: new Map() };
  }

  async answer(): Promise<FindAnswer> {
    const { deps, query, options } = this;
    const needsCaller = query.terms.some(({ field, text }) => field === "is" && text.split(",").includes("mine"));
    if (needsCaller && options.caller === null)
      throw invalidField("q", "is:mine needs to know who asks: give your name as person");
    this.#drift = await readDriftEpisodes(deps);
    this.#context.drifted = new Set(this.#drift.keys());
    if (this.#terms.length > 0)
      for await (const slice of this.#slices()) for (const row of slice) this.#ranking.add(row);
    const compare = createComparator(query, this.#context);
    const cursor = options.after === undefined ? undefined : await this.#findCursor(options.after);
    const counts: Counts = new Map();
    const durations: number[] = [];
    let total = 0;
    let best: FoundRow[] = [];
    let hasMore = false;
    for await (const slice of this.#slices()) {
      const found = await this.#findMatches(slice);
      total += found.length;
      if (query.group !== undefined) countGroups(counts, found, query, this.#context);
      for (const { duration } of found) if (duration !== null) durations.push(duration);
      const afterCursor = cursor ? found.filter((row) => compare(cursor, row) < 0) : found;
      if (afterCursor.length === 0) continue;
      best = [...best, ...afterCursor].sort(compare);
      hasMore ||= best.length > options.limit;
      best.length = Math.min(best.length, options.limit);
    }
    const { rows, isTruncated } = await this.#toRows(best);
    return {
      query: query.text,
      rows,
      total,
      groups: query.group === undefined ? [] : sortGroups(counts, query.group),
      next: (hasMore || isTruncated) && rows.length > 0 ? rows.at(-1)!.change_id : null,
      ...(query.time && durationStatistics(durations)),
    };
  }

  async *#slices(): AsyncGenerator<readonly Row[]> {
    for await (const slice of readSlices(this.deps.store, this.all)) yield showRowsAtTime(this.deps, slice);
  }

  async #findMatches(slice: readonly Row[]): Promise<FoundRow[]> {
    const { query } = this;
    const needsVerdicts = query.group === "verdict" || query.terms.some(({ field }) => field === "verdict");
    if (needsVerdicts) this.#context = { ...this.#context, verdicts: await this.#readVerdicts(slice) };
    return slice.filter((row) => this.#matches(row)).map((row) => this.#toFoundRow(row));
  }

  #matches(row: Row): boolean {
    const { words, ids, terms } = this.query;
    const { where } = this.options;
    if (where && !where(row)) return false;
    if (!terms.every((term) => term.holds(row, this.#context) !== term.negated)) return false;
    if (!ids.every(({ id, negated }) => (row.change.change_id === id) !== negated)) return false;
    // With `any`, one of the words without a minus is enough; it is tested last.
    const isAny = this.options.words === "any";
    if (!words.every((word) => (isAny && !word.negated) || containsWord(row, word) !== word.negated)) return false;
    return !isAny || this.#terms.length === 0 || this.#terms.some((term) => countTerm(row, term) > 0);
  }

  #toFoundRow(row: Row): FoundRow {
    const { time } = this.query;
    const [from, to] = time ? [listTimes(row, time.from)[0], listTimes(row, time.to)[0]] : [];
    const duration = from === undefined || to === undefined ? null : Date.parse(to) - Date.parse(from);
    return { row, score: this.#score(row), duration };
  }

  #score(row: Row): number {
    if (this.#terms.length === 0) return 0;
    const score = this.#ranking.score(row);
    // If some words are enough, the row with more of them comes first.
    return this.options.words === "any" ? this.#ranking.countMatches(row) * MAX_SCORE + score : score;
  }

  /** Finds the row after which the page begins, even if it no longer matches the query. */
  async #findCursor(id: string): Promise<FoundRow> {
    const [text] = await this.deps.store.texts("changes", [id]);
    const record = text && parseRecord(text);
    if (!record || !isRecord(record) || !canRead(this.deps.reader, record.change))
      throw invalidField(this.options.cursorField ?? "after", "is no change; send the next of the previous page");
    const [row] = await showRowsAtTime(this.deps, [makeRow(record.change)]);
    return this.#toFoundRow(row!);
  }

  async #readVerdicts(slice: readonly Row[]): Promise<Context["verdicts"]> {
    const ids = slice.flatMap(({ change }) => (change.applied_at === null ? [] : [change.change_id]));
    const projection = await readProjection(this.deps, outcomes);
    const records = ids.length === 0 ? [] : await projection.getMany("outcomes", ids);
    const stored = records.flatMap((record) => record?.value ?? []);
    const at = new Date(this.#context.now).toISOString();
    const measured = await measureOutcomes(projection, stored, this.#context.intent, at);
    return new Map(measured.map(({ change_id, verdict }) => [change_id, verdict]));
  }

  /** Converts rows to the answer, at most 1 MiB. */
  async #toRows(best: readonly FoundRow[]): Promise<{ rows: FindRow[]; isTruncated: boolean }> {
    const verdicts = await this.#readVerdicts(best.map(({ row }) => row));
    const rows: FindRow[] = [];
    let bytes = 0;
    for (const found of best) {
      const row = toFindRow(found, {
        verdict: verdicts.get(found.row.change.change_id) ?? null,
        drift: this.#drift.get(found.row.change.change_id)?.state ?? null,
        policy: this.#context.intent.policy,
        isTimed: this.query.time !== undefined,
      });
      // An estimate: two bytes for each character.
      bytes += JSON.stringify(row).length * 2;
      if (bytes > PAGE_BYTES && rows.length > 0) return { rows, isTruncated: true };
      rows.push(row);
    }
    return { rows, isTruncated: false };
  }
}

/** Returns the number of durations in milliseconds, and their median and maximum in seconds. */
function durationStatistics(durations: number[]): Pick<FindAnswer, "timed" | "median" | "max"> {
  const timed = durations.length;
  if (timed === 0) return { timed, median: null, max: null };
  const sorted = Float64Array.from(durations).sort();
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { timed, median: median / 1000, max: sorted.at(-1)! / 1000 };
}

/** Reads the current drift episodes, by change id. */
async function readDriftEpisodes({ store }: ChangesDeps): Promise<Map<string, DriftEpisode>> {
  const episodes = new Map<string, DriftEpisode>();
  for await (const { value } of listRecords(store, "drift", { limit: 1000 })) episodes.set(value.change_id, value);
  return episodes;
}
