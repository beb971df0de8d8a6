/**
 * All faults, by room. A fault:
 *   name     the wrong behaviour, as a sentence
 *   file     where it is planted
 *   find     the text, or RegExp, that stands there exactly once
 *   replace  what stands there instead
 *   tests    the nearest test files, one of which must fail
 *   only     a pattern over the names of tests, where the files are long
 *   grave    part of the short run
 *
 * When a fault is stale its text has changed. Where the behaviour is still there, give it the text that carries it now, run
 * `npm run mutants -- --only "<part of its name>"`, and see that the test which fails is one that speaks of it. Where it is
 * gone, the fault goes too. What no caller and no keeper of the files could ever notice is no fault, and has no place here.
 */
import { audit } from "./audit.mjs";
import { consent } from "./consent.mjs";
import { callers } from "./callers.mjs";
import { clock } from "./clock.mjs";
import { console } from "./console.mjs";
import { erasure } from "./erasure.mjs";
import { evidence } from "./evidence.mjs";
import { github } from "./github.mjs";
import { projections } from "./projections.mjs";
import { http } from "./http.mjs";
import { targets } from "./targets.mjs";
import { reports } from "./reports.mjs";
import { link } from "./link.mjs";
import { model } from "./model.mjs";
import { mandates } from "./mandates.mjs";
import { mcp } from "./mcp.mjs";
import { memory } from "./memory.mjs";
import { moving } from "./moving.mjs";
import { notifications } from "./notifications.mjs";
import { operations } from "./operations.mjs";
import { outcomes } from "./outcomes.mjs";
import { plans } from "./plans.mjs";
import { policy } from "./policy.mjs";
import { principals } from "./principals.mjs";
import { program } from "./program.mjs";
import { query } from "./query.mjs";
import { recovery } from "./recovery.mjs";
import { proof } from "./proof.mjs";
import { sharedStores } from "./shared_stores.mjs";
import { stateMachine } from "./state_machine.mjs";
import { store } from "./store.mjs";
import { values } from "./values.mjs";
import { verified } from "./verified.mjs";
import { verifier } from "./verifier.mjs";
import { watching } from "./watching.mjs";

/** By the names of the files that hold them. */
const ROOMS = {
  audit,
  clock,
  erasure,
  evidence,
  verified,
  values,
  state_machine: stateMachine,
  consent,
  proof,
  plans,
  policy,
  mandates,
  principals,
  github,
  operations,
  watching,
  outcomes,
  query,
  moving,
  notifications,
  projections,
  reports,
  targets,
  http,
  model,
  store,
  recovery,
  shared_stores: sharedStores,
  link,
  mcp,
  memory,
  verifier,
  program,
  callers,
  console,
};

export const FAULTS = Object.entries(ROOMS).flatMap(([room, faults]) => faults.map((fault) => ({ room, ...fault })));
