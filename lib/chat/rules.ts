/** The built-in responder: the same question on the same records has the same answer, and says which records it is from. */
import { kpiNames } from "../governance/rules/intent.ts";
import type { Recalled } from "../memory/recall.ts";
import { changePage } from "../pulse/change_views.ts";
import type { PulseDeps } from "../pulse/deps.ts";
import { type ChangeDetail, changeIn, failures, kpiStanding, overview, waiting } from "./facts.ts";
import type { Citation } from "../memory/history.ts";
import { EN, type Phrases } from "./phrases_en.ts";
import { ZH } from "./phrases_zh.ts";
import { languageOf, type Topic, topicsOf } from "./topics.ts";

/** An answer and the records it is from. */
interface RulesReply {
  text: string;
  citations: Citation[];
}

const LONGEST_MEMORY = 300;

/** The responder's language for a message. */
export const phrasesFor = (message: string): Phrases => ({ en: EN, zh: ZH })[languageOf(message)];

/** Answers from the records, then from the memories that were recalled for this message. */
export async function answerByRules(
  deps: PulseDeps,
  message: string,
  memories: readonly Recalled[],
): Promise<RulesReply> {
  const say = phrasesFor(message);
  const topics = topicsOf(message, deps.product ? kpiNames(deps.product.intent) : []);
  const known = deps.product ? await fromRecords(deps, message, topics, say) : await withoutProduct(deps, topics, say);
  const answers = [known, fromMemory(memories, say)].filter((answer) => answer !== undefined);
  if (answers.length === 0) return { text: `${say.nothingFound}\n${say.help}`, citations: [] };
  return {
    text: lines(answers.map(({ text }) => text)),
    citations: distinct(answers.flatMap(({ citations }) => citations)),
  };
}

const TELL: Readonly<Record<Topic, (deps: PulseDeps, say: Phrases) => Promise<RulesReply>>> = {
  help: async (_, say) => ({ text: say.help, citations: [] }),
  change: askWhich,
  failed: tellFailures,
  kpis: tellKpis,
  pending: tellWaiting,
  status: tellStatus,
};

async function fromRecords(deps: PulseDeps, message: string, topics: readonly Topic[], say: Phrases) {
  const [first] = topics;
  const change = first === undefined || first === "change" ? await changeIn(deps, message) : undefined;
  if (change) return explain(change, say);
  const topic = topics.find((other) => other !== "change") ?? first;
  return topic && TELL[topic](deps, say);
}

async function withoutProduct(deps: PulseDeps, topics: readonly Topic[], say: Phrases) {
  if (topics.length === 0) return undefined;
  const { text, citations } = topics.includes("status") ? await tellStatus(deps, say) : { text: "", citations: [] };
  return { text: lines([topics[0] === "help" ? say.help : "", text, say.off]), citations };
}

const cite = (kind: string, ids: readonly (string | number)[]): Citation[] =>
  ids.map((id) => ({ kind, id: String(id) }));

async function tellStatus(deps: PulseDeps, say: Phrases): Promise<RulesReply> {
  const { state, product } = await overview(deps);
  const citations = cite("state", [state.tick]);
  if (!product) return { text: say.state(state), citations };
  const { intent, audit } = product;
  citations.push(...cite("intent", [intent.manifest_hash]), ...cite("audit", audit.length > 0 ? [audit.length] : []));
  return { text: lines([say.product(product), say.state(state)]), citations };
}

async function tellWaiting(deps: PulseDeps, say: Phrases): Promise<RulesReply> {
  const { pending, approved } = await waiting(deps);
  const { changes } = (await overview(deps)).product!;
  const section = (listed: typeof pending, count = 0, title: (count: number) => string): string[] => [
    title(count),
    ...listed.map(say.waiting),
    count > listed.length ? say.more(count - listed.length) : "",
  ];
  const pendingOnes = section(pending, changes.pending_consent, say.pending);
  const approvedOnes = section(approved, changes.approved, say.approved);
  const ids = [...pending, ...approved].map(({ change_id }) => change_id);
  return { text: lines([...pendingOnes, ...approvedOnes]), citations: cite("change", ids) };
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
    citations: [...cite("change", [change.change_id]), ...cite("audit", entries)],
  };
}

async function askWhich(deps: PulseDeps, say: Phrases): Promise<RulesReply> {
  const { changes } = await changePage(deps, { limit: 3 });
  const ids = changes.map(({ change_id }) => change_id);
  return { text: say.whichChange(changes), citations: cite("change", ids) };
}

async function tellKpis(deps: PulseDeps, say: Phrases): Promise<RulesReply> {
  const { value, parts } = await kpiStanding(deps);
  if (parts.length === 0) return { text: say.noKpis, citations: [] };
  const kpis = parts.map(({ kpi }) => kpi);
  return { text: lines([say.effect(value), ...parts.map(say.kpi)]), citations: cite("kpi", kpis) };
}

async function tellFailures(deps: PulseDeps, say: Phrases): Promise<RulesReply> {
  const { failures: failed, drift } = await failures(deps);
  const told = [...failed.map(say.failure), ...drift.map(say.drift)];
  const ofFailures = failed.flatMap(({ audit_id, change_id }) => [
    { kind: "audit", id: String(audit_id) },
    { kind: "change", id: change_id },
  ]);
  const ofDrift = drift.map(({ change_id }) => change_id);
  const citations = [...ofFailures, ...cite("change", ofDrift)];
  return { text: told.length > 0 ? lines(told) : say.noFailures, citations };
}

function fromMemory(memories: readonly Recalled[], say: Phrases): RulesReply | undefined {
  if (memories.length === 0) return undefined;
  const told = memories.map((memory) => say.memory({ ...memory, text: oneLine(memory.text) }));
  const ids = memories.map(({ id }) => id);
  return { text: lines([say.remembered, ...told]), citations: cite("memory", ids) };
}

const lines = (parts: readonly string[]): string => parts.filter((part) => part !== "").join("\n");

const oneLine = (text: string): string => {
  const line = text.replace(/\s+/gu, " ");
  return line.length > LONGEST_MEMORY ? `${line.slice(0, LONGEST_MEMORY).toWellFormed()}…` : line;
};

/** Each citation once, in the order of first mention. */
const distinct = (citations: readonly Citation[]): Citation[] => [
  ...new Map(citations.map((citation) => [`${citation.kind} ${citation.id}`, citation])).values(),
];
