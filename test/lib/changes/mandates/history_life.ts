/** The service and the model of a history of mandates side by side, and their comparison. */
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
import { PENS } from "./history_parts.ts";
import * as model from "./model.ts";
import { DAY } from "./model.ts";

/** Numbers of answers by kind. */
export type Seen = Map<string, number>;

/** One life of the service and of the model. */
export interface Life {
  deps: TestDeps;
  fetch(request: Request): Promise<Response>;
  world: model.World;
  target: ReturnType<typeof memoryTarget>;
  rewinding: RewindingStore | undefined;
  seed: number;
  step: number;
  seen: Seen;
}

export const toEntry = ({ tenant, target }: { tenant: string; target: string }) =>
  ({ tenant_id: tenant, target, kind: "config", value: null }) as never;

export function makeAdapter(target: Life["target"], store: TestDeps["store"], clock: TestClock, address: string) {
  const adapter = targetAdapter(target.system, { store, clock });
  const systems = [{ name: "prices", type: "memory", address }];
  return routingAdapter([{ name: "prices", match: ["*"], adapter }], { hash: address, systems });
}

export async function send({ fetch }: Life, path: string, body: object, headers: HeadersInit = {}): Promise<Reply> {
  const response = await fetch(json(path, body, headers));
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text), headers: response.headers };
}

/** Signs a decision and sends it; the answer to a text that the service does not give out is that of the decision. */
export async function decide(life: Life, decision: string, path: string, name: string, fields: object): Promise<Reply> {
  const asked = await send(life, "consent-statement", { decision, approver: name, ...fields });
  if (asked.status !== 200) return asked;
  const { statement } = asked.body as { statement: string };
  const proof = PENS[name]![life.world.rules.keys[name]!]!.sign(statement);
  const who = ["freeze", "unfreeze", "accept_loss"].includes(decision) ? "actor" : "approver";
  return send(life, path, { [who]: name, ...fields, proof, at: JSON.parse(statement).at });
}

/** Compares an answer with what the model says: no reason against it, or one of the reasons. Returns true where it was done. */
export function agree({ seen, seed, step }: Life, what: string, reply: Reply, reasons: readonly string[]): boolean {
  const code = reply.status < 300 ? "done" : String(reply.body.code);
  seen.set(`${what} ${code}`, (seen.get(`${what} ${code}`) ?? 0) + 1);
  const expected = reasons.length === 0 ? ["done"] : reasons;
  expect(expected, `seed ${seed}, step ${step}: ${what}: ${reply.text.slice(0, 300)}`).toContain(code);
  return code === "done";
}

/** Compares every mandate and change with the model: as stored, and `isWhole` as clients see them. */
export async function compare(life: Life, what: string, isWhole: boolean): Promise<void> {
  const { world, deps, fetch, seed, step } = life;
  const at = `seed ${seed}, step ${step}: after ${what}`;
  const mandates = world.mandates.filter(({ state }) => state !== "draft");
  for (const [index, stored] of (
    await deps.store.getMany(
      "mandates",
      mandates.map(({ id }) => id),
    )
  ).entries()) {
    const { state, revision } = mandates[index]!;
    expect(stored!.value.state, `${at}: ${stored!.id}`).toBe(state);
    if (state !== "ended") expect(stored!.value.revision, `${at}: ${stored!.id}`).toBe(revision);
  }
  for (const [index, stored] of (
    await deps.store.getMany(
      "changes",
      world.changes.map(({ id }) => id),
    )
  ).entries())
    expect(stored!.value.change.status, `${at}: ${stored!.id}`).toBe(world.changes[index]!.status);
  if (!isWhole) return;
  const answer = (await (await fetch(get("/api/product/mandates?limit=100"))).json()) as { mandates: Shown[] };
  const shown = answer.mandates.map(({ mandate_id, state, used, left }) => ({ mandate_id, state, used, left }));
  const listed = world.mandates.filter(({ state, created }) => state !== "draft" || world.now <= created + 7 * DAY);
  expect(shown, at).toEqual(listed.map((mandate) => shownAs(mandate, world)));
}

type Shown = ReturnType<typeof shownAs>;

function shownAs(mandate: model.Mandate, world: model.World) {
  const { today, open } = model.used(mandate, world);
  const room = model.findRoom(mandate, world);
  const left = { today: Math.max(0, room.today - today), open: Math.max(0, room.open - open) };
  const state = model.showState(mandate, world);
  return { mandate_id: mandate.id, state, used: { today, open }, left };
}

export type Roll = ReturnType<typeof dice>;
export const pick = <T>(list: readonly T[], roll: Roll): T | undefined => list[roll(list.length)];
