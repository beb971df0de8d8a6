import type * as z from "zod";
import type { Call } from "../http/endpoint.ts";
import type { OperationsDeps } from "../operations/deps.ts";

/** A call of a tool: the request that carries it. */
export type ToolCall = Call<OperationsDeps>;

/** A page that a person should open, and why. */
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
  /** For the model: what it is good for, and what it is not. */
  description: string;
  /** It writes, so that it needs an agent's secret; `again`: a second time changes nothing more. */
  writes?: "once" | "again";
  /** False: it shows the service as a whole, which an agent that reads its own changes only may not see. */
  ownReads: boolean;
  /** A function where it depends on the intent. */
  input: I | ((deps: OperationsDeps) => I);
  output: O;
}

/** A tool that can be called with what its schema let pass. */
export interface Tool extends ToolDeclaration<z.ZodType, z.ZodType> {
  run(input: unknown, call: ToolCall): Promise<object>;
  /** The task that a client which takes tasks is answered with in place of a result; undefined where there is none. */
  task?(input: unknown, call: ToolCall): Promise<object | undefined>;
  /** The page that a person should open before the tool waits for them; undefined where there is none. */
  prompt?(input: unknown, call: ToolCall): Promise<Prompt | undefined>;
}

/** Makes a tool of a declaration and what it does. */
export const createTool = <I extends z.ZodType, O extends z.ZodType>(
  declared: ToolDeclaration<I, O>,
  run: (input: z.output<I>, call: ToolCall) => Promise<z.input<O> & object>,
  {
    task,
    prompt,
  }: {
    task?: (input: z.output<I>, call: ToolCall) => Promise<object | undefined>;
    prompt?: (input: z.output<I>, call: ToolCall) => Promise<Prompt | undefined>;
  } = {},
): Tool => ({
  ...declared,
  run: run as Tool["run"],
  ...(task && { task: task as Required<Tool>["task"] }),
  ...(prompt && { prompt: prompt as Required<Tool>["prompt"] }),
});

/**
 * Returns the result of a tool: its structure, and the same as text for clients that know no other. `links`: where it has
 * the page of a change, also a link that a client can show to the person.
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

/** The input schema of a tool under an intent. */
export const readInput = ({ input }: Pick<Tool, "input">, deps: OperationsDeps): z.ZodType =>
  typeof input === "function" ? input(deps) : input;
