/** The guards of requests: the admin token, and the origin of a write. */
import { expect, test } from "vitest";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { requireSameSite, requireToken } from "../../../lib/http/guards.ts";
import { ORIGIN } from "../../support/requests.ts";

const request = (headers: HeadersInit, url = ORIGIN): Request => new Request(url, { method: "POST", headers });

test("tokens are compared by their digests, never as text", () => {
  const hashedTexts: unknown[] = [];
  const sha256 = (data: string | Uint8Array) => {
    hashedTexts.push(data);
    return portableSha256(data);
  };
  const deps = { adminToken: "token", sha256 };
  expect(() => requireToken(request({ "x-svc-admin-token": "other" }), deps)).toThrow();
  requireToken(request({ "x-svc-admin-token": "token" }), deps);
  expect(hashedTexts).toEqual(expect.arrayContaining(["token", "other"]));
});

test("a missing token and a wrong one have the same error", () => {
  const deps = { adminToken: "token", sha256: portableSha256 };
  expect(() => requireToken(request({}), deps)).toThrow("it is missing or wrong");
  const wrong = request({ "x-svc-admin-token": "other" });
  expect(() => requireToken(wrong, deps)).toThrow("it is missing or wrong");
});

test("tokens whose digests differ in one character only are distinguished", () => {
  const sha256 = (data: string | Uint8Array) => (data === "token" ? "aaaa" : "aaab");
  expect(() => requireToken(request({ "x-svc-admin-token": "other" }), { adminToken: "token", sha256 })).toThrow();
});

test("Origin is verified against the Host header, not against the address", () => {
  const behindProxy = { host: "console.example:8443", origin: "https://console.example:8443" };
  expect(() => requireSameSite(request(behindProxy))).not.toThrow();
  expect(() => requireSameSite(request({ host: "console.example", origin: ORIGIN }))).toThrow();
  expect(() => requireSameSite(request({ host: "[::1]:8420", origin: "http://[::1]:8420" }))).not.toThrow();
  expect(() => requireSameSite(request({ host: "CONSOLE.example", origin: "https://console.example" }))).not.toThrow();
});
