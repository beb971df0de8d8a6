/** The interface of a language model's tools. */
import type * as z from "zod";
import type { FoundMemory } from "../memory/recall.ts";
import type { OperationsDeps } from "../operations/deps.ts";
import type { DraftResult } from "./draft_result.ts";

/** The caller of the tools, and what they collect for the reply. */
export interface ToolContext {
  deps: OperationsDeps;
  /** The name of the caller; null if unknown. */
  caller: string | null;
  /** True if the caller may write to the product. */
  mayWrite: boolean;
  /** The conversation that the message is part of. */
  conversation: string;
  /** True if memory may be searched. */
  memory: boolean;
  /** Collects drafts. */
  drafted: DraftResult[];
  /** Collects the queries that ran, each with its total, for the person to see. */
  queries: Set<string>;
  /** Collects the memories that the model has read. */
  recalled: FoundMemory[];
}

/** A tool; its input is validated before it runs. */
export interface Tool<S extends z.ZodType = z.ZodType> {
  description: string;
  input: S;
  run: (input: z.output<S>, context: ToolContext) => Promise<unknown>;
}

/** Declares a tool; its input type is dropped, since tools of all inputs are in one list. */
export const createTool = <S extends z.ZodType>(spec: Tool<S>): Tool => spec as unknown as Tool;
