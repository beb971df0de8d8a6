/** Deliveries of GitHub's webhook: their fields, their rejections and their signatures. */
import { expect, test } from "vitest";
import { hasValidSignature, readDelivery } from "../../../lib/github/delivery.ts";
import { API, HOOK_SECRET, sign } from "../../support/github_stub.ts";

const SHA = "a".repeat(40);
const CALLBACK = `${API}/repos/acme/shop.v2/actions/runs/9001/deployment_protection_rule`;
const DELIVERY = {
  action: "requested",
  environment: "production",
  deployment_callback_url: CALLBACK,
  deployment: { id: 7, sha: SHA },
  repository: { id: 42, full_name: "acme/shop.v2" },
  installation: { id: 77 },
};
const EVENT = "deployment_protection_rule";
const read = (body: unknown, event = EVENT) =>
  readDelivery(new TextEncoder().encode(JSON.stringify(body)), new Headers({ "x-github-event": event }), API);
/** Returns the fields of a delivery for a repository of this name. */
const forRepository = (full_name: string) => ({
  repository: { id: 42, full_name },
  deployment_callback_url: CALLBACK.replace("acme/shop.v2", full_name),
});

test("a delivery is parsed into the deployment and the commit that wait for a decision", () => {
  const request = {
    installation_id: 77,
    repository_id: 42,
    repository: "acme/shop.v2",
    deployment_id: 7,
    run_id: "9001",
    environment: "production",
    head: SHA,
    callback: CALLBACK,
  };
  expect(read(DELIVERY)).toEqual(request);
  expect(read({ ...DELIVERY, sha: SHA, event: "push" })).toEqual(request);
  expect(read({ ...DELIVERY, deployment: { id: 7, sha: "b".repeat(64) } })!.head).toBe("b".repeat(64));
});

test.each([
  ["another event", DELIVERY, "ping"],
  ["another action", { ...DELIVERY, action: "created" }, EVENT],
  ["null", null, EVENT],
])("a delivery of %s requests no decision", (_, body, event) => {
  expect(read(body, event)).toBeUndefined();
});

const COMMIT = "must be a full commit id";
const NAME = "must be owner/name";
const CALLBACK_FIELD = "deployment_callback_url";
const RUN_CALLBACK = "must be …/actions/runs/<run>/deployment_protection_rule below the api of the gate";

test.each<[fault: string, change: object, field: string, message: string]>([
  ["no environment", { environment: undefined }, "environment", "must be text"],
  ["a short commit", { deployment: { id: 7, sha: "a".repeat(39) } }, "deployment.sha", COMMIT],
  ["a longer commit", { deployment: { id: 7, sha: "a".repeat(41) } }, "deployment.sha", COMMIT],
  ["a commit after another character", { deployment: { id: 7, sha: `x${SHA}` } }, "deployment.sha", COMMIT],
  ["a commit in capitals", { deployment: { id: 7, sha: "A".repeat(40) } }, "deployment.sha", COMMIT],
  [
    "a commit of 64 characters that is not hexadecimal",
    { deployment: { id: 7, sha: "z".repeat(64) } },
    "deployment.sha",
    COMMIT,
  ],
  ["one hexadecimal character", { deployment: { id: 7, sha: "a" } }, "deployment.sha", COMMIT],
  ["another commit of the push", { sha: "b".repeat(40) }, "sha", "must be equal to deployment.sha"],
  ["an id that is text", { deployment: { id: "7", sha: SHA } }, "deployment.id", "must be a number"],
  ["a repository of no owner", forRepository("shop"), "repository.full_name", NAME],
  ["a repository in a folder", forRepository("x/acme/shop"), "repository.full_name", NAME],
  ["a repository with a folder", forRepository("acme/shop/x"), "repository.full_name", NAME],
  ["the repository ..", forRepository("acme/.."), "repository.full_name", NAME],
  ["the repository .", forRepository("acme/."), "repository.full_name", NAME],
  ["an owner with a dot", forRepository("ac.me/shop"), "repository.full_name", NAME],
  [
    "another host",
    { deployment_callback_url: CALLBACK.replace(API, "https://evil.example") },
    CALLBACK_FIELD,
    RUN_CALLBACK,
  ],
  [
    "another repository's run",
    { deployment_callback_url: CALLBACK.replace("shop.v2", "web") },
    CALLBACK_FIELD,
    RUN_CALLBACK,
  ],
  ["a longer address", { deployment_callback_url: `${CALLBACK}/x` }, CALLBACK_FIELD, RUN_CALLBACK],
  ["a run without a number", { deployment_callback_url: CALLBACK.replace("9001", "0") }, CALLBACK_FIELD, RUN_CALLBACK],
])("a delivery with %s is rejected", (_, change, field, message) => {
  const details = { fields: [{ field, message }] };
  expect(() => read({ ...DELIVERY, ...change })).toThrow(expect.objectContaining({ code: "invalid_field", details }));
});

test("a repository name may begin with dots", () => {
  expect(read({ ...DELIVERY, ...forRepository("acme/.github") })!.repository).toBe("acme/.github");
  expect(read({ ...DELIVERY, ...forRepository("acme/..x") })!.repository).toBe("acme/..x");
});

test("a body that is not JSON is rejected; a list requests nothing", () => {
  const headers = new Headers({ "x-github-event": EVENT });
  expect(() => readDelivery(new TextEncoder().encode("{"), headers, API)).toThrow(/is not valid JSON/);
  expect(readDelivery(new TextEncoder().encode("[]"), headers, API)).toBeUndefined();
});

test.each([
  ["a signature of the text with the secret", sign("x"), true],
  ["a signature of another text", sign("y"), false],
  ["a signature with another secret", sign("x", "another"), false],
  ["a signature without its scheme", sign("x").slice("sha256=".length), false],
  ["no signature", "", false],
])("a delivery with %s is accepted: %o", async (_, signature, expected) => {
  const headers = new Headers(signature === "" ? {} : { "x-hub-signature-256": signature });
  expect(await hasValidSignature(HOOK_SECRET, new TextEncoder().encode("x"), headers)).toBe(expected);
});
