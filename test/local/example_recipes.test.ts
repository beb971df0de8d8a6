/** Tests the recipes for the webhook adapter: the adapter calls each recipe, which calls a stub of its system's API. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Change } from "../../lib/changes/rules/change.ts";
import { systemClock } from "../../lib/kit/platform.ts";
import { webhookAdapter } from "../../lib/targets/webhook.ts";
import { adapterCases } from "../contract/adapter_cases.ts";
import type { Recipe } from "../support/recipe_stubs/fake_fetch.ts";
import * as flagServices from "../support/recipe_stubs/flag_services.ts";
import * as stores from "../support/recipe_stubs/stores.ts";
// @ts-expect-error an example without types
import { receiver } from "../../local/example/recipes/receiver.mjs";

const SECRET = "sesame-open-the-gate";
const neverAborted = new AbortController().signal;

/** Starts the receiver of a recipe, and returns an adapter that sends it requests. */
async function startRecipe({ makeSystem }: Recipe, { secret = SECRET, now = Date.now } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "recipe-"));
  const stub = await makeSystem();
  const start = async () => {
    const server = receiver({ secret: SECRET, system: stub.system, path: join(folder, "changes.json"), now });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return server;
  };
  const server = await start();
  const close = async () => {
    server.close();
    server.closeAllConnections();
    await rm(folder, { recursive: true, force: true });
  };
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/`;
  const common = { product_id: "acme", instance_id: "acme@local", clock: systemClock, sleep: async () => undefined };
  return { ...stub, url, adapter: webhookAdapter({ url, secret, ...common }), close };
}

const change = (value: unknown, overrides: Partial<Change> = {}): Change =>
  ({
    change_id: "chg_a",
    tenant_id: "t1",
    kind: "config",
    target: "new-checkout",
    revision: 1,
    value,
    ...overrides,
  }) as Change;

describe.each(Object.entries({ ...flagServices, ...stores }))("%s", (_, recipe) => {
  const [before, next, edited] = recipe.values;

  test("an apply and its rollback send the requests that the API documents", async () => {
    const { adapter, close, requests } = await startRecipe(recipe);
    onTestFinished(close);
    const proposed = change(next);
    expect(await adapter.validate(proposed, neverAborted)).toMatchObject({
      ok: true,
      preview: { before: before ?? null, after: next },
    });
    requests.splice(0);
    expect(await adapter.apply(proposed, neverAborted)).toEqual({
      result: "applied",
      previous: before === undefined ? null : { value: before },
    });
    expect(requests.splice(0)).toEqual(recipe.applyRequests);
    expect(await adapter.verify(proposed, neverAborted)).toBe("applied");
    expect(await adapter.held!(proposed, neverAborted)).toEqual({ value: next });
    // A repeated apply writes nothing, and the rollback makes as many writes as the first apply.
    await adapter.apply(proposed, neverAborted);
    expect(await adapter.rollback({ ...proposed, status: "applied" }, neverAborted)).toEqual({ result: "rolled_back" });
    expect(await adapter.held!(proposed, neverAborted)).toEqual(before === undefined ? null : { value: before });
    expect(await adapter.verify(proposed, neverAborted)).toBe("rolled_back");
    expect(requests.filter(({ method }) => method !== "GET")).toHaveLength(
      recipe.applyRequests.filter(({ method }) => method !== "GET").length,
    );
  });

  test("a rollback over another program's edit is rejected, and leaves the edit", async () => {
    const { adapter, close, edit } = await startRecipe(recipe);
    onTestFinished(close);
    const proposed = change(next);
    await adapter.apply(proposed, neverAborted);
    edit(edited);
    expect(await adapter.verify(proposed, neverAborted)).toBe("unknown");
    await expect(adapter.rollback({ ...proposed, status: "applied" }, neverAborted)).rejects.toThrow(
      "status 409: the target was changed",
    );
    expect(await adapter.held!(proposed, neverAborted)).toEqual({ value: edited });
  });

  test("an apply with an edit between its read and its write is rejected, and leaves the edit", async () => {
    const { adapter, close, edit, beforeWrite } = await startRecipe(recipe);
    onTestFinished(close);
    beforeWrite(() => edit(edited));
    await expect(adapter.apply(change(next), neverAborted)).rejects.toThrow("status 409: the target was changed");
    expect(await adapter.held!(change(next), neverAborted)).toEqual({ value: edited });
    expect(await adapter.verify(change(next), neverAborted)).toBe("absent");
  });

  test("a 4xx of the system rejects the apply, and a 5xx leaves its result unknown", async () => {
    const { adapter, close, fail } = await startRecipe(recipe);
    onTestFinished(close);
    fail(403);
    await expect(adapter.apply(change(next), neverAborted)).rejects.toThrow("status 422: the system answered 403");
    fail(500);
    await expect(adapter.apply(change(next), neverAborted)).rejects.toMatchObject({ name: "Unanswered" });
  });
});

describe.each(Object.entries(stores))("adapter contract: %s", (_, recipe) => {
  test.each(adapterCases)("$name", ({ run }) =>
    run(async () => {
      const { adapter, edit, close } = await startRecipe(recipe);
      return { adapter, dispose: close, overwrite: ({ target }, value) => edit(value, target) };
    }),
  );
});

test("an apply to AppConfig is rejected while another deployment runs", async () => {
  const { adapter, close, startDeployment } = await startRecipe(stores.appconfigRecipe);
  onTestFinished(close);
  const end = startDeployment!();
  await expect(adapter.apply(change(1), neverAborted)).rejects.toThrow("status 409: another deployment is running");
  expect(await adapter.verify(change(1), neverAborted)).toBe("absent");
  end();
  await adapter.apply(change(1), neverAborted);
  expect(await adapter.held!(change(1), neverAborted)).toEqual({ value: 1 });
});

test("the receiver rejects unsigned requests, wrong signatures and old requests", async () => {
  const recipe = stores.consulRecipe;
  const otherSecret = await startRecipe(recipe, { secret: "another secret, of others" });
  onTestFinished(otherSecret.close);
  await expect(otherSecret.adapter.apply(change(1), neverAborted)).rejects.toThrow("status 401: not signed");
  expect(otherSecret.requests).toEqual([]);
  // A signed request is valid for 300 seconds.
  const lateReceiver = await startRecipe(recipe, { now: () => Date.now() + 301_000 });
  onTestFinished(lateReceiver.close);
  await expect(lateReceiver.adapter.apply(change(1), neverAborted)).rejects.toThrow("status 401: not signed");
  expect((await fetch(lateReceiver.url)).status).toBe(401);
});
