/** A scenario with mandates: the service, the model, and functions that compare them. */
import { expect } from "vitest";
import { targetAdapter } from "../../../../lib/targets/adapter.ts";
import { routingAdapter } from "../../../../lib/targets/routing.ts";
import type { Reply } from "../../../support/client.ts";
import type { TestClock } from "../../../support/clock.ts";
import type { TestDeps } from "../../../support/deps.ts";
import { dice } from "../../../support/dice.ts";
import type { memoryTarget } from "../../../support/memory_target.ts";
import { get, json } from "../../../support/requests.ts";
import type { RewindingStore } from "../../../support/rewinding_store.ts";
import { SIGNERS } from "./random_mandates.ts";
import * as model from "./mandate_model.ts";
import { DAY } from "./mandate_model.ts";

/** Numbers of replies by action and result. */
export type Tally = Map<string, number>;

/** A running scenario: the service and the model. */
export interface Scenario {
  deps: TestDeps;
  fetch(request: Request): Promise<Response>;
  world: model.World;
  target: ReturnType<typeof memoryTarget>;
  rewinding: RewindingStore | undefined;
  seed: number;
  step: number;
  tally: Tally;
}

/** Converts a target of the model to the form of the adapter. */
export const toEntry = ({ tenant, target }: { tenant: string; target: string }) =>
  ({ tenant_id: tenant, target, kind: "config", value: null }) as never;

/** Makes an adapter with one target system; the address is part of its configuration. */
export function makeAdapter(target: Scenario["target"], store: TestDeps["store"], clock: TestClock, address: string) {
  const adapter = targetAdapter(target.system, { store, clock });
  const systems = [{ name: "prices", type: "memory", address }];
  return routingAdapter([{ name: "prices", match: ["*"], adapter }], { hash: address, systems });
}

export async function send({ fetch }: Scenario, path: string, body: object, headers: HeadersInit = {}): Promise<Reply> {
  const response = await fetch(json(path, body, headers));
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text), headers: response.headers };
}

/** Signs a decision and sends it; returns the error if the service does not return the statement to sign. */
export async function decide(
  scenario: Scenario,
  decision: string,
  path: string,
  name: string,
  fields: object,
): Promise<Reply> {
  const statementReply = await send(scenario, "consent-statement", { decision, approver: name, ...fields });
  if (statementReply.status !== 200) return statementReply;
  const { statement } = statementReply.body as { statement: string };
  const proof = SIGNERS[name]![scenario.world.rules.keys[name]!]!.sign(statement);
  const callerField = ["freeze", "unfreeze", "accept_loss"].includes(decision) ? "actor" : "approver";
  return send(scenario, path, { [callerField]: name, ...fields, proof, at: JSON.parse(statement).at });
}

/** Verifies that a reply has one of the error codes in `reasons`, or is successful if the list is empty; returns true for success. */
export function verifyReply(
  { tally, seed, step }: Scenario,
  action: string,
  reply: Reply,
  reasons: readonly string[],
): boolean {
  const code = reply.status < 300 ? "done" : String(reply.body.code);
  tally.set(`${action} ${code}`, (tally.get(`${action} ${code}`) ?? 0) + 1);
  const expected = reasons.length === 0 ? ["done"] : reasons;
  expect(expected, `seed ${seed}, step ${step}: ${action}: ${reply.text.slice(0, 300)}`).toContain(code);
  return code === "done";
}

/** Compares all stored mandates and changes with the model, and `withViews` also the mandates that clients see. */
export async function verifyState(scenario: Scenario, action: string, withViews: boolean): Promise<void> {
  const { world, deps, fetch, seed, step } = scenario;
  const label = `seed ${seed}, step ${step}: after ${action}`;
  const mandates = world.mandates.filter(({ state }) => state !== "draft");
  const listIds = (items: readonly { id: string }[]): string[] => items.map(({ id }) => id);
  const storedMandates = await deps.store.getMany("mandates", listIds(mandates));
  for (const [index, stored] of storedMandates.entries()) {
    const { state, revision } = mandates[index]!;
    expect(stored!.value.state, `${label}: ${stored!.id}`).toBe(state);
    // The model does not count the revision of an end.
    if (state !== "ended") expect(stored!.value.revision, `${label}: ${stored!.id}`).toBe(revision);
  }
  const storedChanges = await deps.store.getMany("changes", listIds(world.changes));
  for (const [index, stored] of storedChanges.entries())
    expect(stored!.value.change.status, `${label}: ${stored!.id}`).toBe(world.changes[index]!.status);
  if (!withViews) return;
  const page = (await (await fetch(get("/api/product/mandates?limit=100"))).json()) as { mandates: View[] };
  const views = page.mandates.map(({ mandate_id, state, used, left }) => ({ mandate_id, state, used, left }));
  // Drafts are listed for seven days.
  const expected = world.mandates.filter(({ state, created }) => state !== "draft" || world.now <= created + 7 * DAY);
  expect(views, label).toEqual(expected.map((mandate) => toView(mandate, world)));
}

type View = ReturnType<typeof toView>;

function toView(mandate: model.Mandate, world: model.World) {
  const { today, open } = model.countUsed(mandate, world);
  const limits = model.findLimits(mandate, world);
  const left = { today: Math.max(0, limits.today - today), open: Math.max(0, limits.open - open) };
  const state = model.currentState(mandate, world);
  return { mandate_id: mandate.id, state, used: { today, open }, left };
}

export type Roll = ReturnType<typeof dice>;
export const pick = <T>(list: readonly T[], roll: Roll): T | undefined => list[roll(list.length)];
