/**
 * Tools of a language model: reading, drafting a change, suggesting a task. No tool approves, denies, applies, rolls back, feeds
 * KPIs or changes the intent.
 */
import * as z from "zod";
import type { OperationsDeps } from "../operations/deps.ts";
import { clipJson } from "../kit/clip.ts";
import { toOneLine, shorten } from "../kit/quote.ts";
import { AppError } from "../kit/errors.ts";
import { requireFields } from "../http/body.ts";
import { parseInput } from "../http/form.ts";
import { freeText, line, integer, word } from "../kit/fields.ts";
import { MAX_OPEN_DRAFTS } from "../changes/drafts.ts";
import { proposalFields } from "../http/proposal_fields.ts";
import { readOverview } from "./facts.ts";
import { READING_TOOLS } from "./reading_tools.ts";
import { type Tool, createTool, type ToolContext } from "./tool.ts";
import type { Toolbox } from "../llm/port.ts";
import { recall } from "../memory/recall.ts";

/** Maximum size of one tool's result, in bytes. */
const MAX_RESULT_BYTES = 16_000;
/** Maximum characters of an error, which may repeat names of fields that the model invented. */
const MAX_ERROR_LENGTH = 1000;

const GET_STATUS = createTool({
  description: "State, counts of changes, intent, adapter, drift and audit log.",
  input: z.strictObject({}),
  run: (_, { deps }) => readOverview(deps),
});

const SEARCH_MEMORY = createTool({
  description:
    "Memories of proposals, decisions, outcomes, verdicts, rollbacks, KPIs, feedback, insights and chat. The basis of each is record (from the audit log) or said (a person's unverified word).",
  input: z.strictObject({ query: freeText(1000), limit: integer(1, 20).default(8) }),
  run: async (search, { deps, conversation, recalled }) => {
    const found = await recall(deps, { ...search, conversation });
    recalled.push(...found);
    return found;
  },
});

const SUGGEST_TASK = createTool({
  description: "Suggests a task for the person to submit; nothing is stored.",
  input: z.strictObject({
    title: line(200),
    description: freeText(8000).optional(),
    required_dimension: line(100).optional(),
    priority: word(["low", "normal", "high", "urgent"]).optional(),
  }),
  run: async (task, { drafted }) => {
    if (drafted.filter(({ kind }) => kind === "task").length >= MAX_OPEN_DRAFTS) return "enough tasks are suggested";
    const reason = "a suggestion; submit it yourself";
    drafted.push({ kind: "task", stored: false, draft_id: null, change_id: null, reason, content: task });
    return "suggested to the person; not stored";
  },
});

/**
 * Returns the schema of a draft: a proposal in which kind, target and rationale are required, without the fields that a model cannot
 * choose.
 */
export function draftFields(deps: Pick<OperationsDeps, "product">) {
  const {
    tier: _,
    proposer: _by,
    supersedes: _for,
    apply_when: _when,
    stages: _steps,
    sets: _entries,
    promotes: _of,
    kind,
    target,
    rationale,
    ...fields
  } = proposalFields(deps);
  return z.strictObject({
    ...fields,
    kind: kind.unwrap(),
    target: target.unwrap(),
    rationale: rationale.unwrap(),
  });
}

const draftChange = (deps: Pick<OperationsDeps, "product">): Tool =>
  createTool({
    description:
      "Shows the person a proposal, which is stored when they confirm it. It stores and applies nothing itself.",
    input: draftFields(deps),
    run: async (input, { mayWrite, drafted }) => {
      if (drafted.filter(({ kind }) => kind === "change").length >= MAX_OPEN_DRAFTS)
        return "enough changes are drafted";
      const reason = mayWrite ? UNCONFIRMED : "not stored: this request carries no authority to write";
      drafted.push({ kind: "change", stored: false, draft_id: null, change_id: null, reason, content: input });
      return mayWrite ? "shown to the person; it is stored when they confirm it" : reason;
    },
  });

const UNCONFIRMED = "not stored until you confirm it";

/** Returns the tools of a conversation: product tools only with a product, memory search only if it is allowed. */
export function createToolbox(context: ToolContext): Toolbox {
  const { memory, deps } = context;
  const tools = new Map<string, Tool>(
    Object.entries({
      get_status: GET_STATUS,
      ...(deps.product && { ...READING_TOOLS, draft_change: draftChange(deps) }),
      ...(memory && { search_memory: SEARCH_MEMORY }),
      suggest_task: SUGGEST_TASK,
    }),
  );
  return {
    specs: [...tools].map(([name, { description, input }]) => {
      const { $schema: _, ...parameters } = z.toJSONSchema(input, { io: "input", unrepresentable: "any" });
      return { name, description, parameters: simplifySchema(parameters) as Record<string, unknown> };
    }),
    async use({ name, input }) {
      const found = tools.get(name);
      if (!found) return `there is no tool ${JSON.stringify(name.slice(0, 100))}`;
      try {
        const result = await found.run(parseInput(found.input, requireFields(input)), context);
        return toOneLine(clipJson({ data: result }, MAX_RESULT_BYTES));
      } catch (error) {
        if (error instanceof AppError) return `refused: ${shorten(error.message, MAX_ERROR_LENGTH)}`;
        throw error;
      }
    },
  };
}

/** Removes `pattern` and `format` from a schema: some servers reject them, and the tool checks its input anyway. */
function simplifySchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(simplifySchema);
  if (typeof schema !== "object" || schema === null) return schema;
  // A field of the input may also be called `pattern`; its value is a schema and no string.
  const entries = Object.entries(schema).filter(([name, value]) => !(isUnsupported(name) && typeof value === "string"));
  return Object.fromEntries(entries.map(([name, value]) => [name, simplifySchema(value)]));
}

const isUnsupported = (name: string): boolean => name === "pattern" || name === "format";
