/** Tests the identity header in the exact bytes that a proxy in front of the program sends. */
import { afterEach, expect, test } from "vitest";
import { app } from "../../handlers/index.ts";
import { type HttpServer, serveHttp } from "../../local/node_http.ts";
import { openDeps } from "../support/deps.ts";
import { parseRaw, sendRaw } from "./http_client.ts";

let server: HttpServer | undefined;
afterEach(() => server?.stop());

/** Sends a proposal with the header lines, and returns the response's status and body. */
async function propose(identityHeader: string, ...lines: (string | Buffer)[]) {
  const deps = await openDeps({ identityHeader });
  server = await serveHttp(app(deps), { host: "127.0.0.1", port: 0, deps });
  const body = "tenant_id=t1&affected_users=40&expected_delta_k=12";
  const head = [
    "POST /api/product/propose-crm-followup HTTP/1.0",
    "Host: localhost",
    "Content-Type: application/x-www-form-urlencoded",
    `Content-Length: ${body.length}`,
    ...lines,
  ];
  const bytes = Buffer.concat(head.flatMap((line) => [Buffer.from(line), Buffer.from("\r\n")]));
  return parseRaw(await sendRaw(server.url, Buffer.concat([bytes, Buffer.from(`\r\n${body}`)])));
}

test("UTF-8 bytes in the identity header are decoded to the name", async () => {
  const { status, body } = await propose("x-person", "X-Person: josé@x.example");
  expect([status, body.proposer]).toEqual([201, "josé@x.example"]);
});

test("an identity header that is not UTF-8 is 400 invalid_identity", async () => {
  const { status, body } = await propose("x-person", Buffer.from("X-Person: jos\xe9@x.example", "latin1"));
  expect([status, body.code]).toEqual([400, "invalid_identity"]);
});

// Node drops the second value of some headers, such as `From`.
test.each(["x-person", "from"])("the identity header %s sent twice is 400 invalid_identity", async (name) => {
  for (const second of ["bo", "ana", ""]) {
    const { status, body } = await propose(name, `${name}: ana`, `${name}: ${second}`);
    expect([status, body.code], second).toEqual([400, "invalid_identity"]);
    await server!.stop();
  }
});
