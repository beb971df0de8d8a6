/** Tests `related` and `drift` in GET /api/product/changes/:change_id. */
import { expect, test } from "vitest";
import { openOperations } from "../lib/operations/operations_service.ts";

const VALUE = { target: "limits.uploads", value: "25" };

async function service() {
  const api = await openOperations();
  const related = async (id: string) => (await api.get(`changes/${id}`)).body.related;
  return { api, related };
}

test("related changes are the open ones of the same tenant and target, and the applied one", async () => {
  const { api, related } = await service();
  const owner = await api.bring("applied", { ...VALUE, summary: "As it was", proposer: "pat" });
  const first = await api.bring("pending_consent", { ...VALUE, summary: "First" });
  const second = await api.bring("approved", { ...VALUE, target: "LIMITS.uploads", summary: "Second" });
  await api.bring("denied", VALUE);
  await api.bring("pending_consent", { ...VALUE, tenant_id: "t2" });
  await api.bring("pending_consent", { ...VALUE, target: "limits.seats" });
  const applied = { change_id: owner, summary: "As it was", proposer: "pat", status: "applied", resolution: null };
  expect(await related(first)).toEqual([
    { change_id: second, summary: "Second", proposer: null, status: "approved", resolution: null, relations: ["live"] },
    { ...applied, relations: ["holds"] },
  ]);
  expect((await related(owner)).map(({ change_id }: { change_id: string }) => change_id)).toEqual([second, first]);
});

test("a change and the one that supersedes it are related, also across targets", async () => {
  const { api, related } = await service();
  const old = await api.bring("pending_consent", { ...VALUE, target: "limits.uplaods" });
  const { change_id: next } = await api.propose({ ...VALUE, supersedes: old });
  expect(await related(next)).toMatchObject([{ change_id: old, relations: ["supersedes"] }]);
  expect(await related(old)).toMatchObject([
    { change_id: next, status: "pending_consent", relations: ["superseded_by"] },
  ]);
  await api.must("approve", next);
  await api.must("apply", next);
  expect(await related(old)).toMatchObject([{ change_id: next, status: "applied", relations: ["superseded_by"] }]);
  const { change_id: third } = await api.propose({ ...VALUE, supersedes: next });
  expect(await related(next)).toMatchObject([
    { change_id: third, relations: ["live", "superseded_by"] },
    { change_id: old, relations: ["supersedes"] },
  ]);
});

test("a change shows its drift until another change that supersedes it is applied", async () => {
  const { api } = await service();
  const change_id = await api.bring("applied", VALUE);
  const readDrift = async () => (await api.get(`changes/${change_id}`)).body.drift;
  expect(await readDrift()).toBeNull();
  api.host.host.set(change_id, "unknown");
  await api.cycle();
  expect(await readDrift()).toMatchObject({ state: "drifted", host: "unknown", target: VALUE.target });
  await api.bring("applied", { ...VALUE, supersedes: change_id });
  expect(await readDrift()).toBeNull();
});
