/**
 * The stateless MCP server. The official SDK is not used: it would make the Worker larger by a third and an install by two thirds,
 * and it answers the older era only in event streams, which a Lambda function cannot send. An era is a group of versions of the
 * protocol (see `era.ts`). Tests run the protocol's own conformance scenarios for both eras.
 */
import { maskErrors, createOwnReadsError } from "../changes/read_scope.ts";
import { type Answer, textAnswer } from "../http/answer.ts";
import { parseInput, rejectInexactValue } from "../http/form.ts";
import { AppError } from "../kit/errors.ts";
import { version } from "../kit/version.ts";
import { elicit } from "./elicitation.ts";
import { negotiateVersion, type Era, findEra, supportsLinks, MODERN_VERSIONS } from "./era.ts";
import { makeInstructions } from "./instructions.ts";
import {
  errorText,
  findId,
  isObject,
  type Message,
  parseMessage,
  parseBody,
  resultText,
  RPC,
  RpcError,
} from "./jsonrpc.ts";
import { rejectionText } from "./rejection_text.ts";
import { answerForTask, supportsTasks, TASKS } from "./tasks.ts";
import { readInput, toolResult, type ToolCall } from "./tool.ts";
import { listTools, TOOLS } from "./toolbox.ts";

const SERVER = { name: "countersign", title: "Countersign", version };
const CAPABILITIES = { tools: {} };
/** Cache hints of the list of tools, which depends on the caller and on the intent. */
const CACHE_HINTS = { ttlMs: 60_000, cacheScope: "private" };

/** Answers one message; 202 without a body for a notification. */
export async function answerMessage(call: ToolCall, text: string): Promise<Answer | Response> {
  let body: unknown;
  try {
    body = parseBody(text);
    const message = parseMessage(body, text);
    const era = findEra(call.request, message);
    if (message.id === undefined) return new Response(null, { status: 202, headers: NO_BODY });
    const result = await METHODS[era](call, message);
    return textAnswer(resultText(message.id, era === "modern" ? addServerInfo(result) : result));
  } catch (error) {
    if (error instanceof RpcError) return textAnswer(errorText(findId(body), error), error.status);
    throw error;
  }
}

const NO_BODY = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/** Adds the result's type and the server info, which the newer era requires in each result. */
const addServerInfo = (result: object): object => ({
  resultType: "complete",
  ...result,
  _meta: { "io.modelcontextprotocol/serverInfo": SERVER },
});

const METHODS: Record<Era, (call: ToolCall, message: Message) => Promise<object> | object> = {
  modern(call, message) {
    if (message.method === "server/discover") return describeServer(call);
    if (message.method === "tools/list") return { tools: listTools(call), ...CACHE_HINTS };
    if (message.method === "tools/call")
      return callTool(call, message, { tasks: supportsTasks(message), links: true, prompts: true });
    if (TASK_METHODS.includes(message.method)) return answerForTask(call, message);
    throw unknownMethod(message, 404);
  },
  legacy(call, message) {
    if (message.method === "initialize") return answerInitialize(call, message);
    if (message.method === "ping") return {};
    if (message.method === "tools/list") return { tools: listTools(call) };
    if (message.method === "tools/call")
      return callTool(call, message, { tasks: false, links: supportsLinks(call.request), prompts: false });
    throw unknownMethod(message, 200);
  },
};

const TASK_METHODS = ["tasks/get", "tasks/update", "tasks/cancel"];

/** The error of an unknown method; the eras of the protocol answer it with different HTTP statuses. */
const unknownMethod = ({ method }: Message, status: 200 | 404) =>
  new RpcError(RPC.methodNotFound, `Method not found: ${method}`, status);

const describeServer = (call: ToolCall): object => ({
  supportedVersions: MODERN_VERSIONS,
  capabilities: { ...CAPABILITIES, extensions: { [TASKS]: {} } },
  instructions: makeInstructions(call),
  ...CACHE_HINTS,
});

const answerInitialize = (call: ToolCall, { params }: Message): object => ({
  protocolVersion: negotiateVersion(params["protocolVersion"]),
  capabilities: CAPABILITIES,
  serverInfo: SERVER,
  instructions: makeInstructions(call),
});

/**
 * Calls a tool. An error of the tool becomes a result with `isError`, so that the model can read it and correct its input. `tasks`,
 * `links`, `prompts`: the client can get tasks, links in results, and requests to open a page for a person.
 */
async function callTool(
  call: ToolCall,
  message: Message,
  { tasks, links, prompts }: { tasks: boolean; links: boolean; prompts: boolean },
): Promise<object> {
  const { params, text } = message;
  const { name, arguments: args = {} } = params;
  const tool = TOOLS.find((candidate) => candidate.name === name);
  if (!tool)
    throw new RpcError(RPC.invalidParams, `Unknown tool: ${formatName(name)}; tools/list returns the tools`, 200);
  if (!isObject(args)) throw new RpcError(RPC.invalidParams, "arguments must be an object", 200);
  try {
    const { agent, readsOwn } = call.identity;
    if (tool.writes && agent === undefined) throw agentRequired(tool.name);
    // Only agents can be restricted to their own changes, so there is an agent here.
    if (readsOwn && !tool.ownReads) throw createOwnReadsError(agent!);
    rejectInexactValue(text, (path) => path.replace(/^params\.arguments\./, ""));
    const input = parseInput(readInput(tool, call.deps), args);
    return await maskErrors(call.deps, async () => {
      const prompt = prompts && tool.prompt && (await elicit(call, message, () => tool.prompt!(input, call)));
      if (prompt) return prompt;
      const task = tasks ? await tool.task?.(input, call) : undefined;
      return task ?? toolResult(await tool.run(input, call), links);
    });
  } catch (error) {
    return { content: [{ type: "text", text: rejectionText(error) }], isError: true };
  }
}

/** Formats the requested name; a value that is not text is formatted as JSON. */
const formatName = (name: unknown): string =>
  (typeof name === "string" ? name : JSON.stringify(name ?? null)).slice(0, 100);

const agentRequired = (tool: string): AppError =>
  new AppError("agent_required", `${tool} needs an agent's secret as Authorization: Bearer`);
