/**
 * Setup of docs/mounting.md: each example application is started and protects, serves and applies as the page says. It mounts the
 * service at `/governance`, one endpoint at `/crm/history/<change id>`, and shows the values that its adapter set at `/settings`.
 */
import { beforeAll, describe, expect, test } from "vitest";
import { client, type Client, PROPOSAL } from "../../support/client.ts";
import type { DocumentSetup } from "./index.ts";

export const mounting: DocumentSetup = {
  prepare: () => ({ filesFrom: ["docs/writing_an_adapter.md"] }),
  declareTests(documentRun) {
    describe.each(["hono.js", "express.js", "fastify.js", "plain.js"])("%s", (file) => {
      let origin: string;
      beforeAll(async () => {
        await documentRun().start(`node ${file}`, ["3000"]);
        origin = documentRun().url(3000);
      });

      /** Creates a client that sends its requests with a session and further headers. */
      const withSession = (session: string, headers: Record<string, string> = {}) => {
        const send = (request: Request): Promise<Response> => {
          for (const [name, value] of Object.entries({ authorization: `Bearer ${session}`, ...headers }))
            request.headers.set(name, value);
          return fetch(request);
        };
        return client(send, `${origin}/governance`);
      };
      const readSettings = async (): Promise<Record<string, { value: unknown }>> =>
        (await withSession("session-of-ana").send(new Request(`${origin}/settings`))).body;
      const proposeBanner = (api: Client, value: unknown) =>
        api.propose({ value: JSON.stringify(value), target: "ui.banner" });

      test("the host's log-in protects the service", async () => {
        const { post, get } = withSession("nobody");
        for (const reply of [await post("propose", PROPOSAL), await get("runtime")])
          expect(reply).toMatchObject({ status: 401, text: "log in first" });
      });

      test("a decision is made under the logged-in name, whatever the client claims", async () => {
        const api = withSession("session-of-bo", { "x-person": "ana" });
        const { change_id } = await proposeBanner(api, 1);
        const rejected = await api.post("approve", { change_id, approver: "ana" });
        expect(rejected).toMatchObject({ status: 403, body: { code: "identity_mismatch" } });
        expect((await api.post("approve", { change_id, approver: "bo" })).status).toBe(200);
        expect(await api.change(change_id)).toMatchObject({ approver: "bo" });
      });

      test("changes are applied to the host's table and rolled back; one without a value is rejected", async () => {
        const api = withSession("session-of-ana");
        const applyBanner = async (value: unknown) => {
          const { change_id } = await proposeBanner(api, value);
          await api.must("approve", change_id);
          return { change_id, applied: await api.must("apply", change_id) };
        };
        const first = await applyBanner({ on: true });
        expect(first.applied).toMatchObject({ status: "applied", adapter: { name: "settings", result: "applied" } });
        expect((await readSettings())["t1 ui.banner"]?.value).toEqual({ on: true });
        const second = await applyBanner("second");
        expect((await readSettings())["t1 ui.banner"]?.value).toBe("second");
        await api.must("rollback", second.change_id);
        expect((await readSettings())["t1 ui.banner"]?.value).toEqual({ on: true });
        await api.must("rollback", first.change_id);
        expect(await readSettings()).toEqual({});
        const [older, newer] = [await applyBanner("older"), await applyBanner("newer")];
        // The newer change covers the older one's value, so the rollback sets nothing.
        expect((await api.must("rollback", older.change_id)).adapter).toMatchObject({ result: "superseded" });
        expect((await readSettings())["t1 ui.banner"]?.value).toBe("newer");
        await api.must("rollback", newer.change_id);
        expect(await readSettings()).toEqual({});
        const { change_id } = await api.propose({ target: "ui.banner" });
        await api.must("approve", change_id);
        expect(await api.act("apply", change_id)).toMatchObject({
          status: 400,
          body: { code: "adapter_rejected", error: expect.stringContaining("a value is needed") },
        });
      });

      test("a single endpoint can be mounted under a path of the host", async () => {
        const api = withSession("session-of-ana");
        const { change_id } = await proposeBanner(api, 1);
        const history = (id: string) => api.send(new Request(`${origin}/crm/history/${id}`));
        expect((await history(change_id)).body).toEqual(await api.change(change_id));
        expect(await history("chg_none")).toMatchObject({ status: 404, body: { code: "change_not_found" } });
      });

      test("the console is served at the prefix to logged-in users", async () => {
        const fetchPage = async (session: string, path: string) =>
          fetch(origin + path, { headers: { authorization: `Bearer ${session}` } });
        expect(await (await fetchPage("nobody", "/governance/")).text()).toBe("log in first");
        const answer = await fetchPage("session-of-ana", "/governance/");
        expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
        const [, script] = /<script type="module" src="([^"]+)">/.exec(await answer.text())!;
        expect((await fetchPage("session-of-ana", `/governance/${script}`)).headers.get("content-type")).toContain(
          "javascript",
        );
      });

      test("the API's description has the prefix, and other paths belong to the host", async () => {
        const { get, send } = withSession("session-of-ana");
        const { paths, servers } = (await get("/openapi.json")).body;
        expect(servers).toEqual([{ url: "/governance" }]);
        expect(Object.keys(paths)).toContain("/api/product/approve");
        expect((await get("/docs")).text).toContain("POST /<wbr>governance/<wbr>api/<wbr>product/<wbr>approve");
        expect(await get("/api/none")).toMatchObject({ status: 404, body: { code: "not_found" } });
        const unprefixed = await send(new Request(`${origin}/api/state`));
        expect([unprefixed.status, unprefixed.headers.get("x-request-id")]).toEqual([404, null]);
      });
    });

    test("the route handler of Next serves the API, and a change is applied", () =>
      documentRun().runBlock({
        language: "js",
        info: "js",
        line: 0,
        marks: [],
        text: `import assert from "node:assert/strict";
          import { GET, POST } from "./app/governance/[...path]/route.js";
          import { settings } from "./governance.js";

          const api = "http://crm.acme.example/governance/api/product/";
          const headers = { authorization: "Bearer session-of-ana" };
          const post = async (path, fields) =>
            (await POST(new Request(api + path, { method: "POST", headers, body: new URLSearchParams(fields) }))).json();
          // Without a session.
          for (const handler of [GET, POST]) {
            const unknown = new Request(api + "audit/export", { method: handler === GET ? "GET" : "POST" });
            assert.equal((await handler(unknown)).status, 401);
          }
          const change = { tenant_id: "t1", kind: "config", target: "ui.banner", summary: "Banner", value: "true" };
          const { change_id } = await post("propose", change);
          await post("approve", { change_id, approver: "ana" });
          assert.equal((await post("apply", { change_id })).status, "applied");
          assert.equal(settings.get("t1 ui.banner").value, true);
          const read = await GET(new Request(api + "changes/" + change_id, { headers }));
          assert.equal((await read.json()).approver, "ana");`,
      }));
  },
};
