/** The declaration of MCP tools, and their results. */
import type * as z from "zod";
import type { Call } from "../http/endpoint.ts";
import type { OperationsDeps } from "../operations/deps.ts";

/** The request with which a tool is called. */
export type ToolCall = Call<OperationsDeps>;

/** A page that a person should open, and the reason. */
export interface Prompt {
  change_id: string;
  url: string;
  message: string;
}

/** Declaration of a tool, without its implementation. */
interface ToolDeclaration<I extends z.ZodType, O extends z.ZodType> {
  /** Name by which a model calls it. */
  name: string;
  title: string;
  /** Description for the model: when to use the tool, and when not. */
  description: string;
  /** Present for a tool that writes, which needs an agent's secret. `once`: each call writes; `again`: a repeated call does not. */
  writes?: "once" | "again";
  /** False for a tool that shows facts of other changes; it is hidden from an agent that may read only its own changes. */
  ownReads: boolean;
  /** Schema of the input; a function if it depends on the intent. */
  input: I | ((deps: OperationsDeps) => I);
  output: O;
}

/** A tool; its input has passed the schema. */
export interface Tool extends ToolDeclaration<z.ZodType, z.ZodType> {
  run(input: unknown, call: ToolCall): Promise<object>;
  /** Returns a task in place of a result, for a client that supports tasks; undefined if there is nothing to wait for. */
  task?(input: unknown, call: ToolCall): Promise<object | undefined>;
  /** Returns the page that a person should open before the tool waits; undefined if no page is needed. */
  prompt?(input: unknown, call: ToolCall): Promise<Prompt | undefined>;
}

/** Creates a tool from its declaration and implementation. The casts widen the types of the input, which has passed the schema. */
export const createTool = <I extends z.ZodType, O extends z.ZodType>(
  declaration: ToolDeclaration<I, O>,
  run: (input: z.output<I>, call: ToolCall) => Promise<z.input<O> & object>,
  {
    task,
    prompt,
  }: {
    task?: (input: z.output<I>, call: ToolCall) => Promise<object | undefined>;
    prompt?: (input: z.output<I>, call: ToolCall) => Promise<Prompt | undefined>;
  } = {},
): Tool => ({
  ...declaration,
  run: run as Tool["run"],
  ...(task && { task: task as Required<Tool>["task"] }),
  ...(prompt && { prompt: prompt as Required<Tool>["prompt"] }),
});

/**
 * Formats the result of a tool: as a structure, and as text for older clients. `links`: adds a link to the page of a change,
 * which a client can show to the person.
 */
export const toolResult = (answer: object, links = false): object => ({
  content: [{ type: "text", text: JSON.stringify(answer) }, ...(links ? pageLinks(answer) : [])],
  structuredContent: answer,
});

function pageLinks({ page, change_id, summary }: { page?: unknown; change_id?: unknown; summary?: unknown }): object[] {
  if (typeof page !== "string" || typeof change_id !== "string") return [];
  const title = typeof summary === "string" && summary !== "" ? summary : change_id;
  const description = "The page on which a person decides on this change.";
  return [{ type: "resource_link", uri: page, name: change_id, title, description, mimeType: "text/html" }];
}

/** Returns the input schema of a tool under the current intent. */
export const readInput = ({ input }: Pick<Tool, "input">, deps: OperationsDeps): z.ZodType =>
  typeof input === "function" ? input(deps) : input;
