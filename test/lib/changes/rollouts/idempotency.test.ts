/** Writes of a rollout that a client repeats with the same idempotency key. */
import { expect, test } from "vitest";
import { PROPOSAL } from "../../../support/client.ts";
import { core } from "../../../support/core.ts";
import { AGENTS, STAGES } from "../../../support/rollouts.ts";

test("a repeated write of a rollout gets the same reply and adds no entry", async () => {
  const api = await core({ intent: { principals: AGENTS } });
  const proposal = { ...PROPOSAL, value: "true", stages: JSON.stringify(STAGES) };
  let change_id = "";
  const writes: [path: string, fields: () => Record<string, string>][] = [
    ["propose", () => proposal],
    ["approve", () => ({ change_id, approver: "ana" })],
    ["apply", () => ({ change_id })],
    ["stage", () => ({ change_id, step: "0", action: "hold", actor: "ana" })],
    ["stage", () => ({ change_id, step: "0", action: "resume", actor: "ana" })],
    ["rollback", () => ({ change_id })],
  ];
  for (const [index, [path, fields]] of writes.entries()) {
    const key = { "idempotency-key": `key-${index}` };
    const first = await api.post(path, fields(), key);
    expect(first.body.error, path).toBeUndefined();
    change_id ||= first.body.change_id;
    const entries = await api.audit();
    const repeated = await api.post(path, fields(), key);
    expect([repeated.status, repeated.text], path).toEqual([first.status, first.text]);
    expect(await api.audit(), path).toEqual(entries);
  }
});
