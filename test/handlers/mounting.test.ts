/** Tests the service under a base path, single endpoints under other paths, and mounted targets. */
import { describe, expect, test } from "vitest";
import { docs } from "../../handlers/docs.ts";
import { app, countersign, endpoints, targetAdapter } from "../../handlers/index.ts";
import { openapi } from "../../handlers/openapi.ts";
import { approve } from "../../handlers/product/approve.ts";
import { createRouter } from "../../lib/http/router.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { client } from "../support/client.ts";
import { openDeps } from "../support/deps.ts";
import { manifest } from "../support/intents.ts";
import { memoryTarget } from "../support/memory_target.ts";
import { form, get, ORIGIN } from "../support/requests.ts";

describe("app under a base", () => {
  test.each(["/governance", "/a/b.c", ""])("paths are answered only below the base %j", async (base) => {
    const fetch = app(await openDeps(), { base });
    const status = async (path: string) => (await fetch(new Request(ORIGIN + path))).status;
    expect([await status(`${base}/api/state`), await status(`${base}/api/none`)]).toEqual([200, 404]);
    expect(await status("/elsewhere/api/state")).toBe(404);
    if (base === "") return;
    expect([await status("/api/state"), await status(`${base}x/api/state`)]).toEqual([404, 404]);
  });

  test("a slash at the end, a query and a fragment do not change the endpoint", async () => {
    const fetch = app(await openDeps(), { base: "/governance" });
    for (const path of ["/api/state/", "/api/whoami?a=/b", "/api/state#/b", "/api/whoami/?a"])
      expect([path, (await fetch(get(`/governance${path}`))).status]).toEqual([path, 200]);
  });

  test("a dot in the base matches only a dot", async () => {
    const fetch = app(await openDeps(), { base: "/a.b" });
    expect((await fetch(get("/axb/api/state"))).status).toBe(404);
  });

  test.each(["governance", "/governance/", "/", "/a//b", "/:tenant", "/*", "https://acme.example", "/a?b"])(
    "the base %j is rejected, since it is not a path",
    async (base) => {
      const deps = await openDeps();
      expect(() => app(deps, { base })).toThrow(/^base must be a path such as \/governance/);
    },
  );
});

test.each([
  ["/api/product/kpis", "did you mean /api/product/kpi?"],
  ["/changes", "did you mean /api/product/changes/:change_id?"],
  ["/api/audit", "did you mean /api/product/audit?"],
  ["/nowhere", undefined],
  [`/api/product/${"kpi".repeat(40)}`, undefined],
])("the error about the unknown path %s names the nearest path, if one is similar", async (path, hint) => {
  const message = (base: string) =>
    `there is nothing at ${base}${path}${hint ? `: ${hint.replace("/api", `${base}/api`)}` : ""}; see ${base}/docs`;
  for (const base of ["", "/governance"]) {
    const fetch = app(await openDeps(), { base });
    expect((await (await fetch(get(base + path))).json()).error).toBe(message(base));
  }
});

test("a single endpoint names no path that it does not have", async () => {
  const fetch = createRouter([approve], await openDeps());
  expect((await (await fetch(get("/nowhere"))).json()).error).toBe("there is nothing at /nowhere");
});

test.each([
  ["/openapi.json", "/"],
  ["/governance/openapi.json", "/governance"],
  ["/governance/openapi.json/", "/governance"],
  ["/openapi.json/openapi.json", "/openapi.json"],
  ["/api-description", "/"],
])("the document at %s names the server %s", async (path, url) => {
  const handler = openapi(() => endpoints)(await openDeps());
  expect((await (await handler(get(path))).json()).servers).toEqual([{ url }]);
});

test("the documentation page shows paths with their base", async () => {
  const handler = docs(() => endpoints)(await openDeps());
  expect(await (await handler(get("/governance/docs"))).text()).toContain(
    "POST /<wbr>governance/<wbr>api/<wbr>product/<wbr>approve",
  );
  expect(await (await handler(get("/docs"))).text()).toContain("POST /<wbr>api/<wbr>product/<wbr>approve");
  expect(await (await handler(get("/<b>/docs"))).text()).not.toContain("<b>");
});

test("a single endpoint can be mounted under any path", async () => {
  const deps = await openDeps();
  const { change_id } = await client(app(deps)).propose();
  const alone = approve(deps);
  const approved = await alone(form("/crm/decisions/yes", { change_id, approver: "ana" }));
  expect(approved.status).toBe(200);
  expect((await alone(get("/crm/decisions/yes"))).status).toBe(405);
});

test("mounted targets apply the changes that they match, and have a capability each", async () => {
  const store = memoryStore();
  const { system, raw } = memoryTarget();
  const targets = ["flags", "limits"].map((name) => ({
    name,
    match: [`${name}/*`],
    adapter: targetAdapter({ ...system, name }, { store }),
  }));
  const service = await countersign({ store, intent: manifest(), targets });
  const { bring, send } = client(service.fetch);
  const target = { tenant_id: "t1", kind: "config", target: "flags/a", value: "1" } as const;
  const { body } = await send(get(`changes/${await bring("applied", target)}`));
  expect(body).toMatchObject({ status: "applied", places: [{ system: "flags" }] });
  expect(raw(target)).toBe("1");
  const { capabilities } = (await send(get("/api/capabilities"))).body;
  const ids: string[] = capabilities.map(({ id }: { id: string }) => id);
  expect(ids.filter((id) => id.startsWith("target:"))).toEqual(["target:flags", "target:limits"]);
  await service.close();
});
