/** The official reader of flagd files, for the test of the flagd target. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { fetchedFile } from "./fetched_package.ts";
import packageJson from "./flagd_core/package.json" with { type: "json" };

/** A reader of the text of a flagd file; its methods throw where the reader rejects the file. */
export interface FlagdReader {
  setConfigurations(text: string): string[];
  resolveBooleanEvaluation(key: string, fallback: boolean, context?: object): { value: boolean; reason?: string };
  resolveObjectEvaluation(key: string, fallback: object, context?: object): { value: object; reason?: string };
}

/** Loads the reader; rejects with the reason where it is not available. */
export async function loadFlagdReader(): Promise<new () => FlagdReader> {
  const name = "@openfeature/flagd-core";
  const path = await fetchedFile(join(import.meta.dirname, "flagd_core"), packageJson, "index.cjs.js", { name });
  return ((await import(pathToFileURL(path).href)) as { FlagdCore: new () => FlagdReader }).FlagdCore;
}
