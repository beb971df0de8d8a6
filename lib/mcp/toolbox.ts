/** All tools, and their descriptions for clients. No tool approves, denies, applies, rolls back, feeds KPIs, freezes or edits the intent. */
import { toJsonSchema } from "../openapi/json_schema.ts";
import type { OperationsDeps } from "../operations/deps.ts";
import { readInput, type Tool, type ToolCall } from "./tool.ts";
import { explainPolicy } from "./tools/explain_policy.ts";
import { findChanges } from "./tools/find.ts";
import { getChange } from "./tools/get_change.ts";
import { listChanges } from "./tools/list_changes.ts";
import { productState } from "./tools/product_state.ts";
import { proposeChange } from "./tools/propose_change.ts";
import { searchMemory } from "./tools/search_memory.ts";
import { waitForDecision } from "./tools/wait_for_decision.ts";
import { withdrawChange } from "./tools/withdraw_change.ts";

/** All tools. Reading tools come first, so that a client that tries the first one changes nothing. */
export const TOOLS: readonly Tool[] = [
  explainPolicy,
  findChanges,
  listChanges,
  getChange,
  waitForDecision,
  searchMemory,
  productState,
  proposeChange,
  withdrawChange,
];

/** Lists the tools for a caller: without an agent's secret only reading tools; fewer for an agent that may read only its own changes. */
const listOfferedTools = ({ identity: { agent, readsOwn } }: ToolCall): readonly Tool[] =>
  TOOLS.filter(({ writes, ownReads }) => (agent !== undefined || !writes) && (ownReads || !readsOwn));

/** Descriptions by product, since input schemas depend on its intent. */
const descriptionCache = new WeakMap<object, ReadonlyMap<Tool, object>>();

/** Lists the descriptions that `tools/list` returns. */
export function listTools(call: ToolCall): (object | undefined)[] {
  const { product } = call.deps;
  const all = descriptionCache.get(product!) ?? new Map(TOOLS.map((tool) => [tool, describeTool(tool, call.deps)]));
  descriptionCache.set(product!, all);
  return listOfferedTools(call).map((tool) => all.get(tool));
}

function describeTool(tool: Tool, deps: OperationsDeps): object {
  const { name, title, description, writes, output } = tool;
  return {
    name,
    title,
    description,
    inputSchema: toJsonSchema(readInput(tool, deps), "input"),
    outputSchema: toJsonSchema(output, "output"),
    annotations: {
      title,
      readOnlyHint: !writes,
      destructiveHint: false,
      idempotentHint: writes !== "once",
      openWorldHint: false,
    },
  };
}
