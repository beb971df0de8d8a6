/** Checks that the service can take writes, for load balancers and orchestrators. */
import * as z from "zod";
import { readCurrentHead, findClockProblem } from "../audit/chain.ts";
import { adoptStoredBreach } from "../audit/report_breach.ts";
import { readWitnessStates } from "../audit/request_cosignatures.ts";
import { findIntentProblem } from "../changes/intent_in_force.ts";
import type { StoreFaults } from "../store/faults.ts";
import { StoreUnavailable } from "../store/store.ts";
import { runWithTimeLimit, Unanswered } from "../kit/time_limit.ts";
import type { OperationsDeps } from "./deps.ts";
import { PROBE_MS, writeProof } from "../store/write_proof.ts";

export const readinessSchema = z
  .object({
    ready: z.boolean().describe("Whether writes would be taken."),
    checks: z
      .record(
        z.string(),
        z.object({
          ok: z.boolean().describe("Whether it is as it should be."),
          reason: z.string().nullable().describe("The fault; null if none."),
        }),
      )
      .describe("Checks by name."),
  })
  .describe("Readiness for writes, with its checks.");

type Name = "store" | "files" | "chain" | "anchor" | "witnesses" | "clock" | "intent";

/** Results of the checks; if the store did not answer in time, only that of the store. */
interface Readiness {
  ready: boolean;
  checks: Partial<Record<Name, { ok: boolean; reason: string | null }>>;
}

/**
 * Runs the checks: store writable, files undamaged, chain valid, intent loaded (if there is one), clock not far behind the log,
 * anchor unchanged, no contradiction by a witness.
 */
export async function checkReadiness(deps: OperationsDeps): Promise<Readiness> {
  // The answer must arrive in time, even if the store hangs.
  return runWithTimeLimit(() => runChecks(deps), PROBE_MS).catch((error: unknown) => {
    if (!(error instanceof Unanswered)) throw error;
    const reason = `the store did not answer within ${PROBE_MS / 1000} s; see the service's log`;
    return { ready: false, checks: { store: { ok: false, reason } } };
  });
}

async function runChecks(deps: OperationsDeps): Promise<Readiness> {
  const { store, clock, integrity, product, anchor, witnesses } = deps;
  // An unreadable store is reported by its own check.
  await adoptStoredBreach(deps, store).catch(() => undefined);
  const { breach } = integrity;
  const toResult = (ok: boolean, reason: string) => ({ ok, reason: ok ? null : reason });
  const checkHead = async () => {
    let message = "the head of the log cannot be read";
    const head = await readCurrentHead(deps).catch((error: unknown) => {
      if (error instanceof StoreUnavailable && error.shown) message += `: ${error.shown}`;
      return undefined;
    });
    return toResult(head !== undefined, `${message}; see the service's log`);
  };
  const checkStore = async () => {
    const { ok, reason } = await writeProof(deps);
    return { ok, reason };
  };
  const checkIntent = async (runtime: NonNullable<typeof product>) => {
    // If the store cannot be read, `checkHead` says so.
    const problem = await findIntentProblem(store, runtime).catch(() => undefined);
    return problem === undefined ? checkHead() : { ok: false, reason: problem };
  };
  const checkClock = async () => {
    const head = await readCurrentHead(deps).catch(() => undefined);
    const behind = head && findClockProblem(head, clock.now());
    return { ok: behind === undefined, reason: behind ?? null };
  };
  const checks = {
    store: await checkStore(),
    ...(store.faults && { files: checkFiles(store.faults()) }),
    chain: toResult(!breach, `entry ${breach?.first_invalid}: ${breach?.reason}`),
    ...(anchor && product && { anchor: toResult(!integrity.anchor, integrity.anchor?.reason ?? "") }),
    ...(witnesses?.length && product && { witnesses: await checkWitnesses(deps) }),
    ...(product && { clock: await checkClock() }),
    intent: product ? await checkIntent(product) : { ok: true, reason: "no product intent is given" },
  };
  return { ready: Object.values(checks).every(({ ok }) => ok), checks };
}

/** Names files without their folder, since everybody can read the answer. */
function checkFiles({ damaged }: StoreFaults): { ok: boolean; reason: string | null } {
  if (damaged.length === 0) return { ok: true, reason: null };
  const damages = damaged.map(({ file, holds }) => `${file} is missing or damaged; it holds ${holds}`).join(". ");
  return { ok: false, reason: `${damages}. GET /api/capabilities says what to do` };
}

/** Fails if a witness contradicts the log; an unreachable witness does not prevent writes. */
async function checkWitnesses(deps: OperationsDeps): Promise<{ ok: boolean; reason: string | null }> {
  const rejecting = (await readWitnessStates(deps).catch(() => [])).find(({ state }) => state.refused);
  return rejecting
    ? { ok: false, reason: `${rejecting.witness.key.name}: ${rejecting.state.problem}` }
    : { ok: true, reason: null };
}
