/**
 * What a language model may do here: read, draft a change, suggest a task. There is no tool that approves, denies,
 * applies, rolls back, feeds KPIs or touches the intent, and a name that is not in this table does nothing.
 */
import * as z from "zod";
import { logPage } from "../governance/views.ts";
import type { PulseDeps } from "../pulse/deps.ts";
import { AppError } from "../kit/errors.ts";
import { changeId, finiteNumber, flag, freeText, line, parseInput, target, wholeNumber, word } from "../http/form.ts";
import { KINDS, RISKS, STATUSES } from "../governance/rules/change.ts";
import { kpiNames } from "../governance/rules/intent.ts";
import type { ProductRuntime } from "../governance/runtime.ts";
import { changePage } from "../pulse/change_views.ts";
import { OPEN_DRAFTS, submitDraft } from "../governance/submit_proposal.ts";
import { changeById, failures, kpiStanding, overview, waiting } from "./facts.ts";
import type { Toolbox } from "../llm/port.ts";
import { recall, type Recalled } from "../memory/recall.ts";

const RESULT_LIMIT = 16_000;

/** What came of a reply beside its text. `content` holds the fields of the POST that would submit it. */
export const draftedSchema = z.object({
  kind: z.enum(["change", "task"]),
  /** A change is stored where the caller may write; a task is a suggestion and never stored. */
  stored: z.boolean(),
  change_id: z.string().nullable(),
  reason: z.string().nullable(),
  content: z.record(z.string(), z.unknown()),
});
export type Drafted = z.infer<typeof draftedSchema>;

/** For whom the tools work. */
interface ToolContext {
  deps: PulseDeps;
  /** The model, who asked it, and in which message. */
  asked: { model: string; by: string | null; known: boolean; message_id: string };
  /** Whether the caller may write to the product. */
  mayWrite: boolean;
  /** Whether memory may be searched. */
  memory: boolean;
  /** Collects what is drafted. */
  drafted: Drafted[];
  /** Collects the memories that the model is shown. */
  recalled: Recalled[];
}

interface Tool<S extends z.ZodType = z.ZodType> {
  description: string;
  input: S;
  run: (input: z.output<S>, context: ToolContext) => Promise<unknown>;
}

const tool = <S extends z.ZodType>(spec: Tool<S>): Tool => spec as unknown as Tool;

const GET_STATUS = tool({
  description: "State, counts of changes, intent, adapter, drift and audit log.",
  input: z.strictObject({}),
  run: (_, { deps }) => overview(deps),
});

const PRODUCT: Record<string, Tool> = {
  list_pending: tool({
    description: "Changes that wait for consent, and approved ones that wait for their apply.",
    input: z.strictObject({}),
    run: (_, { deps }) => waiting(deps),
  }),
  list_changes: tool({
    description: "Changes, newest first.",
    input: z.strictObject({ status: word(STATUSES).optional(), limit: wholeNumber(1, 20).default(10) }),
    run: (query, { deps }) => changePage(deps, query),
  }),
  get_change: tool({
    description: "One change with its audit entries, outcome and what blocks it.",
    input: z.strictObject({ change_id: changeId }),
    run: async ({ change_id }, { deps }) => (await changeById(deps, change_id)) ?? `there is no change ${change_id}`,
  }),
  get_audit: tool({
    description: "The newest audit entries, of one change or of all.",
    input: z.strictObject({ change_id: changeId.optional(), limit: wholeNumber(1, 20).default(10) }),
    async run(query, { deps }) {
      const { entries, ...page } = await logPage(deps, query);
      return { entries: entries.value, ...page };
    },
  }),
  get_kpis: tool({
    description: "E and what each KPI adds to it.",
    input: z.strictObject({}),
    run: (_, { deps }) => kpiStanding(deps),
  }),
  list_failures: tool({
    description: "Failed operations and drift, newest first.",
    input: z.strictObject({}),
    run: (_, { deps }) => failures(deps),
  }),
};

const SEARCH_MEMORY = tool({
  description: "Memories of decisions, outcomes, rollbacks, feedback, KPIs, chat and insights.",
  input: z.strictObject({ query: freeText(1000), limit: wholeNumber(1, 20).default(8) }),
  run: async (search, { deps, recalled }) => {
    const found = await recall(deps, search);
    recalled.push(...found);
    return found;
  },
});

const SUGGEST_TASK = tool({
  description: "Suggests a task for the person to submit; nothing is stored.",
  input: z.strictObject({
    title: line(200),
    description: freeText(8000).optional(),
    required_dimension: line(100).optional(),
    priority: word(["low", "normal", "high", "urgent"]).optional(),
  }),
  run: async (task, { drafted }) => {
    if (drafted.filter(({ kind }) => kind === "task").length >= OPEN_DRAFTS) return "enough tasks are suggested";
    const reason = "a suggestion; submit it yourself";
    drafted.push({ kind: "task", stored: false, change_id: null, reason, content: task });
    return "suggested to the person; not stored";
  },
});

/** No tier: a draft is never minor. No proposer: it is the model. */
const draftChange = ({ intent }: ProductRuntime): Tool =>
  tool({
    description: "Files a proposal that waits for people's consent. It applies nothing.",
    input: z.strictObject({
      tenant_id: line(200),
      kind: word(KINDS),
      target,
      summary: line(500),
      rationale: freeText(4000),
      expected_delta_k: finiteNumber.optional(),
      affected_users: wholeNumber(0).optional(),
      reversible: flag.optional(),
      risk: word(RISKS).optional(),
      value: z.unknown().optional(),
      kpi: word(kpiNames(intent) as [string, ...string[]]).optional(),
    }),
    run: async (input, { deps, asked: { model, by, known, message_id }, mayWrite, drafted }) => {
      if (drafted.filter(({ kind }) => kind === "change").length >= OPEN_DRAFTS) return "enough changes are drafted";
      if (!mayWrite) {
        const reason = "not stored: this request carries no authority to write";
        drafted.push({ kind: "change", stored: false, change_id: null, reason, content: input });
        return reason;
      }
      const proposal = { ...input, proposer: `llm:${model.slice(0, 190)}` } as const;
      const filed = await submitDraft(deps, proposal, { asked_by: by, known, message_id });
      if ("open" in filed)
        return `not stored: ${OPEN_DRAFTS} drafts wait for consent already: ${filed.open.join(", ")}`;
      const { change_id, status } = filed;
      drafted.push({ kind: "change", stored: true, change_id, reason: null, content: input });
      return { change_id, status };
    },
  });

/** Hands out the tools that make sense here: product tools with a product, memory where it may be searched. */
export function toolbox(context: ToolContext): Toolbox {
  const { memory, deps } = context;
  const tools = new Map<string, Tool>(
    Object.entries({
      get_status: GET_STATUS,
      ...(deps.product && { ...PRODUCT, draft_change: draftChange(deps.product) }),
      ...(memory && { search_memory: SEARCH_MEMORY }),
      suggest_task: SUGGEST_TASK,
    }),
  );
  return {
    specs: [...tools].map(([name, { description, input }]) => {
      const { $schema: _, ...parameters } = z.toJSONSchema(input, { io: "input", unrepresentable: "any" });
      return { name, description, parameters };
    }),
    async use({ name, input }) {
      const found = tools.get(name);
      if (!found) return `there is no tool ${JSON.stringify(name.slice(0, 100))}`;
      try {
        const result = await found.run(parseInput(found.input, input), context);
        return JSON.stringify({ data: result }).slice(0, RESULT_LIMIT);
      } catch (error) {
        if (error instanceof AppError) return `refused: ${error.message}`;
        throw error;
      }
    },
  };
}
