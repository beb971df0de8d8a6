/** The built-in responder: the same question on the same records has the same answer, and says which records it is from. */
import type { PulseDeps } from "../pulse/deps.ts";
import { kpiNames } from "../governance/rules/intent.ts";
import { changePage } from "../pulse/changes.ts";
import { type ChangeDetail, changeIn, failures, kpiStanding, overview, waiting } from "./facts.ts";
import type { Citation } from "./history.ts";
import type { Recalled } from "../memory/memories.ts";
import { EN, type Phrases } from "./phrases_en.ts";
import { ZH } from "./phrases_zh.ts";
import { type Language, languageOf, type Topic, topicsOf } from "./topics.ts";

/** An answer and the records it is from. */
export interface RulesReply {
  text: string;
  citations: Citation[];
}

const LONGEST_MEMORY = 300;

const PHRASES: Record<Language, Phrases> = { en: EN, zh: ZH };

/** The responder's language for a message. */
export const phrasesFor = (message: string): Phrases => PHRASES[languageOf(message)];

/** Answers from the records, then from the memories that were recalled for this message. */
export async function answerByRules(
  deps: PulseDeps,
  message: string,
  memories: readonly Recalled[],
): Promise<RulesReply> {
  const say = phrasesFor(message);
  const topics = topicsOf(message, deps.product ? kpiNames(deps.product.intent) : []);
  const known = deps.product ? await fromRecords(deps, message, topics, say) : await withoutProduct(deps, topics, say);
  const remembered = fromMemory(memories, say);
  const answers = [known, remembered].filter((answer) => answer !== undefined);
  if (answers.length === 0) return { text: `${say.nothingFound}\n${say.help}`, citations: [] };
  return {
    text: lines(answers.map(({ text }) => text)),
    citations: distinct(answers.flatMap(({ citations }) => citations)),
  };
}

async function fromRecords(
  deps: PulseDeps,
  message: string,
  topics: readonly Topic[],
  say: Phrases,
): Promise<RulesReply | undefined> {
  const [first] = topics;
  if (first === undefined || first === "change") {
    const change = await changeIn(deps, message);
    if (change) return explain(change, say);
  }
  const topic = topics.find((other) => other !== "change") ?? first;
  switch (topic) {
    case "help":
      return { text: say.help, citations: [] };
    case "failed":
      return tellFailures(deps, say);
    case "kpis":
      return tellKpis(deps, say);
    case "pending":
      return tellWaiting(deps, say);
    case "status":
      return tellStatus(deps, say);
    case "change":
      return askWhich(deps, say);
    case undefined:
      return undefined;
  }
}

async function withoutProduct(
  deps: PulseDeps,
  topics: readonly Topic[],
  say: Phrases,
): Promise<RulesReply | undefined> {
  if (topics.length === 0) return undefined;
  const { text, citations } = topics.includes("status") ? await tellStatus(deps, say) : { text: "", citations: [] };
  return { text: lines([topics[0] === "help" ? say.help : "", text, say.off]), citations };
}

async function tellStatus(deps: PulseDeps, say: Phrases): Promise<RulesReply> {
  const { state, product } = await overview(deps);
  const citations: Citation[] = [{ kind: "state", id: String(state.tick) }];
  if (!product) return { text: say.state(state), citations };
  citations.push({ kind: "intent", id: product.intent.manifest_hash });
  if (product.audit.length > 0) citations.push({ kind: "audit", id: String(product.audit.length) });
  return { text: lines([say.product(product), say.state(state)]), citations };
}

async function tellWaiting(deps: PulseDeps, say: Phrases): Promise<RulesReply> {
  const { pending, approved } = await waiting(deps);
  const { product } = await overview(deps);
  const section = (listed: typeof pending, count: number, title: string): string[] => [
    title,
    ...listed.map(say.waiting),
    count > listed.length ? say.more(count - listed.length) : "",
  ];
  const counts = product!.changes;
  const [waits, ready] = [counts.pending_consent ?? 0, counts.approved ?? 0];
  return {
    text: lines([...section(pending, waits, say.pending(waits)), ...section(approved, ready, say.approved(ready))]),
    citations: [...pending, ...approved].map(({ change_id }) => ({ kind: "change", id: change_id })),
  };
}

function explain(change: ChangeDetail, say: Phrases): RulesReply {
  const entries = change.audit_entries.map(({ id }) => id);
  const blocks = change.gates.filter(({ state }) => state === "block").map(({ message }) => message);
  return {
    text: lines([
      say.change(change),
      change.approver === null ? "" : say.decided(change),
      blocks.length > 0 ? say.blocked(blocks) : "",
      change.outcome ? say.outcome(change.outcome) : "",
      say.entries(entries),
    ]),
    citations: [{ kind: "change", id: change.change_id }, ...entries.map((id) => ({ kind: "audit", id: String(id) }))],
  };
}

async function askWhich(deps: PulseDeps, say: Phrases): Promise<RulesReply> {
  const { changes } = await changePage(deps, { limit: 3 });
  return {
    text: say.whichChange(changes),
    citations: changes.map(({ change_id }) => ({ kind: "change", id: change_id })),
  };
}

async function tellKpis(deps: PulseDeps, say: Phrases): Promise<RulesReply> {
  const { value, parts } = await kpiStanding(deps);
  if (parts.length === 0) return { text: say.noKpis, citations: [] };
  return {
    text: lines([say.effect(value), ...parts.map(say.kpi)]),
    citations: parts.map(({ kpi }) => ({ kind: "kpi", id: kpi })),
  };
}

async function tellFailures(deps: PulseDeps, say: Phrases): Promise<RulesReply> {
  const found = await failures(deps);
  if (found.failures.length + found.drift.length === 0) return { text: say.noFailures, citations: [] };
  return {
    text: lines([...found.failures.map(say.failure), ...found.drift.map(say.drift)]),
    citations: [
      ...found.failures.flatMap(({ audit_id, change_id }) => [
        { kind: "audit", id: String(audit_id) },
        { kind: "change", id: change_id },
      ]),
      ...found.drift.map(({ change_id }) => ({ kind: "change", id: change_id })),
    ],
  };
}

function fromMemory(memories: readonly Recalled[], say: Phrases): RulesReply | undefined {
  if (memories.length === 0) return undefined;
  return {
    text: lines([say.remembered, ...memories.map((memory) => say.memory({ ...memory, text: oneLine(memory.text) }))]),
    citations: memories.map(({ id }) => ({ kind: "memory", id })),
  };
}

const lines = (parts: readonly string[]): string => parts.filter((part) => part !== "").join("\n");

const oneLine = (text: string): string => {
  const line = text.replace(/\s+/gu, " ");
  return line.length > LONGEST_MEMORY ? `${line.slice(0, LONGEST_MEMORY).toWellFormed()}…` : line;
};

/** Each citation once, in the order of first mention. */
export const distinct = (citations: readonly Citation[]): Citation[] => [
  ...new Map(citations.map((citation) => [`${citation.kind} ${citation.id}`, citation])).values(),
];
