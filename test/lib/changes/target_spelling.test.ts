/** A target keeps the spelling with which it was first applied, regardless of the spelling in later proposals. */
import { expect, test } from "vitest";
import { sshSigner } from "../../support/passkeys.ts";
import { service, type TestService } from "../../support/service.ts";
import { person, proofFields } from "../../support/signed.ts";

const VALUE = { value: "1", reversible: true };
/** Reads the spellings of the targets from values and from OFREP. */
const readSpellings = async (api: TestService) => {
  const { values } = (await api.get("values?tenant_id=t1")).body;
  const { body } = await api.json("/ofrep/v1/evaluate/flags", { context: { targetingKey: "t1" } });
  return [values.map(({ target }: { target: string }) => target), body.flags.map(({ key }: { key: string }) => key)];
};

test("a proposal gets the spelling that was first applied, and its response says so", async () => {
  const api = await service();
  const first = await api.bring("applied", { ...VALUE, target: "Checkout.Fast" });
  const later = await api.propose({ ...VALUE, target: "checkout.fast" });
  expect(later).toMatchObject({
    target: "Checkout.Fast",
    target_spelling: "Recorded as Checkout.Fast, as it was first applied; the request spelled it checkout.fast.",
  });
  await api.must("rollback", first);
  expect((await api.propose({ ...VALUE, target: "CHECKOUT.FAST" })).target).toBe("Checkout.Fast");
  expect(await api.propose({ ...VALUE, target: "Checkout.Fast" })).not.toHaveProperty("target_spelling");
  expect(await api.propose({ ...VALUE, tenant_id: "t2", target: "checkout.fast" })).toMatchObject({
    target: "checkout.fast",
  });
});

test("a spelling that was never applied is not used for later proposals", async () => {
  const api = await service();
  await api.bring("approved", { ...VALUE, target: "Checkout.Fast" });
  expect((await api.propose({ ...VALUE, target: "checkout.fast" })).target).toBe("checkout.fast");
});

test("values and OFREP show the first applied spelling of a target proposed in two spellings", async () => {
  const api = await service();
  const other = await api.bring("approved", { ...VALUE, target: "checkout.fast" });
  const first = await api.bring("applied", { ...VALUE, target: "Checkout.Fast" });
  await api.must("apply", other);
  expect(await readSpellings(api)).toEqual([["Checkout.Fast"], ["Checkout.Fast"]]);
  await api.must("rollback", first);
  expect(await readSpellings(api)).toEqual([["Checkout.Fast"], ["Checkout.Fast"]]);
  await api.must("rollback", other);
  expect((await api.propose({ ...VALUE, target: "checkout.fast" })).target).toBe("Checkout.Fast");
});

test("a statement to sign has normalized fields in the first spelling; its signature is accepted", async () => {
  const signer = sshSigner();
  const api = await service({ intent: { principals: { bo: person(signer) }, policy: { signed_only: false } } });
  await api.bring("applied", { ...VALUE, target: "Checkout.Fast" });
  const requestFields = {
    tenant_id: " cafe\u0301 ",
    kind: "config",
    target: "ui.banner",
    summary: "  Show it ",
    proposer: "bo",
  };
  for (const fields of [requestFields, { ...requestFields, tenant_id: "t1", target: "checkout.fast" }]) {
    const request = { decision: "propose", approver: "bo", proposal: JSON.stringify(fields) };
    const { statement, content } = (await api.post("consent-statement", request)).body;
    const { body } = await api.post("propose", { ...fields, ...proofFields(signer, statement) });
    expect(body).toMatchObject({ ...content, proposer: "bo" });
    expect(body.digest).toBe(JSON.parse(statement).digest);
  }
});
