/** Reads the file of `--gate-issuers`. */
import { readFileSync } from "node:fs";
import { type GateTokens, gateTokenVerifier, readGateIssuers } from "../lib/identity/gate_issuers.ts";
import { systemClock } from "../lib/kit/platform.ts";
import type { Options } from "./options.ts";

/** Opens the verifier of CI tokens; undefined without the option. Errors: one line that names file, field and rule. */
export function openGateTokens({ gateIssuers }: Pick<Options, "gateIssuers">): GateTokens | undefined {
  if (gateIssuers === undefined) return undefined;
  try {
    return gateTokenVerifier(readGateIssuers(readFileSync(gateIssuers, "utf8")), { clock: systemClock });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Error(`--gate-issuers ${gateIssuers}: ${code === undefined ? message : `cannot be read (${code})`}`);
  }
}
