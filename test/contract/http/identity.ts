/** People named by the signed token of a proxy. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { PROPOSAL } from "../../support/client.ts";
import { NOW_S, publicJwk, signedToken } from "../../support/token_issuer.ts";
import type { Open } from "../http_contract.ts";

const ISSUER = "https://id.acme.example";
const HEADER = "x-token";
const CLAIMS = { iss: ISSUER, aud: "gov", email: "ana@acme.example", exp: NOW_S + 600 };

/** Serves a key set on this machine, and returns an identity file with its address. */
async function serveKeys(): Promise<string> {
  const keys = [await publicJwk("k1", "ES256")];
  const server = createServer((_request, response) => response.end(JSON.stringify({ keys }))).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  return JSON.stringify({
    header: HEADER,
    issuer: ISSUER,
    audience: "gov",
    algorithms: ["ES256"],
    jwks_url: `http://127.0.0.1:${port}/jwks`,
  });
}

export function identityRules(open: Open): void {
  test("only a valid token identifies the person: no plain header, invalid token or agent's name", async () => {
    const api = await open({ identityJwt: await serveKeys(), identityHeader: "x-person" });
    /** Signs a token with the key `signer` under the key id `kid`. */
    const sign = (claims: object = {}, kid = "k1", signer = kid) =>
      signedToken({ ...CLAIMS, ...claims }, { alg: "ES256", kid }, signer);
    const { status, body } = await api.post("propose", PROPOSAL, { [HEADER]: await sign() });
    expect([status, body.proposer, body.proposer_kind]).toEqual([201, CLAIMS.email, "person"]);
    expect(JSON.parse((await api.get("audit")).body.entries.at(-1).detail)).toMatchObject({ authenticated: "jwt" });
    expect((await api.get("/api/whoami", { [HEADER]: await sign() })).body).toMatchObject({
      name: CLAIMS.email,
      kind: "person",
      authenticated: "jwt",
    });
    const rejections: [Record<string, string>, string][] = [
      [{ "x-person": "ana@acme.example" }, `must name one in ${HEADER}`],
      [{ [HEADER]: "ana@acme.example" }, "was refused: Invalid Compact JWS"],
      [{ [HEADER]: await sign({ exp: NOW_S - 60 }) }, `was refused: "exp" claim timestamp check failed`],
      [{ [HEADER]: await sign({}, "k1", "mallory"), "x-person": "ana@acme.example" }, "signature verification failed"],
      [{ [HEADER]: await sign({}, "mallory") }, "its issuer has no key of its kid and alg"],
      [{ [HEADER]: await sign({ email: 7 }) }, "it names nobody in email"],
      [{ [HEADER]: await sign({ email_verified: false }) }, "its email is not verified"],
    ];
    for (const [headers, error] of rejections) {
      const answer = await api.post("propose", PROPOSAL, headers);
      expect(answer).toMatchObject({ status: 403, body: { code: "person_required" } });
      expect(answer.body.error).toContain(error);
      expect((await api.get("/api/whoami", headers)).body).toMatchObject({ name: null, authenticated: null });
    }
    const asAgent = await api.post("propose", PROPOSAL, { [HEADER]: await sign({ email: "agent:a" }) });
    expect(asAgent).toMatchObject({ status: 400, body: { code: "invalid_identity" } });
    // `act` approves as ana, whom this token does not name.
    const other = await api.act("approve", body.change_id, { [HEADER]: await sign({ email: "zoë@acme.example" }) });
    expect(other.body.code).toBe("identity_mismatch");
    expect(other.body.error).toContain(`the person named by the token in ${HEADER}`);
    const zoe = await api.post("approve", { change_id: body.change_id }, { [HEADER]: await sign({ email: "zoë@x" }) });
    expect(zoe.body.approvals).toMatchObject([{ approver: "zoë@x" }]);
  });
}
