/** Runs `countersign-verify` in the process of a test. */
import { main } from "../../../local/verify/main.ts";
import type { ProgramResult } from "../../tamper/verifiers.ts";
import { makeWorld, type World } from "../../tamper/world.ts";

/** Runs the program and returns its output as texts. */
export async function runVerifier(args: readonly string[]): Promise<ProgramResult> {
  let [stdout, stderr] = ["", ""];
  const status = await main([...args], { out: (text) => (stdout += text), err: (text) => (stderr += text) });
  return { status, stdout, stderr };
}

let world: Promise<World> | undefined;

/** Returns the world of this process; no test changes it. */
export const verifierWorld = (): Promise<World> => (world ??= makeWorld());
