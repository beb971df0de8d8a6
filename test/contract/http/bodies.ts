/** Request bodies: content type, encoding and size limit; ambiguous bodies are rejected. */
import { expect, test } from "vitest";
import type { Client } from "../../support/client.ts";
import { PROPOSAL } from "../../support/client.ts";
import type { Open } from "../http_contract.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const JSON_TYPE = { "content-type": "application/json" };
const LIMIT = 64 * 1024;
const members = JSON.stringify(PROPOSAL).slice(1, -1);
const encoded = new URLSearchParams(PROPOSAL).toString();

const bytes = (...parts: (string | number[])[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(parts.flatMap((part) => (typeof part === "string" ? [...new TextEncoder().encode(part)] : part)));

/** A body without a known length. */
const streamed = (text: string): RequestInit => ({
  body: new Blob([text]).stream(),
  ...({ duplex: "half" } as RequestInit),
});

const sized = (size: number): string => `${encoded}&value=%22${"a".repeat(size - encoded.length - 13)}%22`;

async function refuses(api: Client, body: BodyInit, headers: HeadersInit, field?: string): Promise<void> {
  const refused = await api.raw("propose", body, headers);
  expect([refused.status, refused.body?.code], refused.text).toEqual([400, "invalid_field"]);
  if (field !== undefined)
    expect(refused.body.fields.map((reported: { field: string }) => reported.field)).toEqual([field]);
  expect(await api.audit()).toEqual([]);
}

export function bodyRules(open: Open): void {
  test.each([
    ["application/x-www-form-urlencoded", encoded],
    ["application/x-www-form-urlencoded; charset=utf-8", encoded],
    ["Application/X-WWW-Form-URLEncoded", encoded],
    ["text/plain", encoded],
    ["text/plain;charset=UTF-8", encoded],
    ["application/json", `{${members}}`],
    ["application/json; charset=utf-8", `{${members}}`],
    ["APPLICATION/JSON", `{${members}}`],
  ])("%s is read", async (type, body) => {
    const { status, text } = await (await open()).raw("propose", body, { "content-type": type });
    expect(status, text).toBe(201);
  });

  test("a body without a content type is read as a form", async () => {
    const api = await open();
    const request = new Request(`${api.origin}/api/product/propose`, { method: "POST", body: bytes(encoded) });
    expect(request.headers.has("content-type")).toBe(false);
    expect((await api.send(request)).status).toBe(201);
  });

  test.each(["application/x-www-form-urlencoded", "text/plain", undefined])(
    "JSON that is sent as %s gets an error that names the right content type",
    async (type) => {
      const api = await open();
      for (const body of [`{${members}}`, '{"a":1}', ` \n{"percent": "100%"}`]) {
        const headers = type === undefined ? {} : { "content-type": type };
        const request = new Request(`${api.origin}/api/product/propose`, {
          method: "POST",
          body: bytes(body),
          headers,
        });
        const { status, body: reported } = await api.send(request);
        expect([status, reported.code, reported.fields[0].field]).toEqual([400, "invalid_field", "body"]);
        // Lambda's HTTP front end decodes a body without a type as text.
        expect(reported.error).toMatch(type === undefined ? /without a content type|as "text\/plain/ : `as "${type}"`);
        expect(reported.error).toContain("add the header content-type: application/json");
      }
    },
  );

  test.each(["application/xml", "multipart/form-data; boundary=x", "text/html", "application/jsonl", "json", "*/*"])(
    "%s is 415",
    async (type) => {
      const refused = await (await open()).raw("propose", encoded, { "content-type": type });
      expect(refused).toMatchObject({ status: 415, body: { code: "unsupported_media_type" } });
    },
  );

  test("form text is UTF-8, and + is a space", async () => {
    const api = await open();
    const body = "tenant_id=t%C3%A9+1&kind=config&target=ui.x&summary=caf%C3%A9+%E6%9D%8E+%F0%9F%98%80+%2B&&";
    const { body: change } = await api.raw("propose", body, FORM);
    expect([change.tenant_id, change.summary]).toEqual(["té 1", "café 李 😀 +"]);
    const unescaped = await api.raw("propose", bytes(body.replace("caf%C3%A9", "café")), FORM);
    expect(unescaped.body.summary).toBe(change.summary);
  });

  test("U+FFFD, which broken bytes decode to, is accepted when it is escaped", async () => {
    const api = await open();
    expect((await api.raw("propose", `${encoded}&rationale=%EF%BF%BD`, FORM)).body.rationale).toBe("\uFFFD");
    const escaped = `{${members},"rationale":"\\ufffd"}`;
    expect((await api.raw("propose", escaped, JSON_TYPE)).body.rationale).toBe("\uFFFD");
  });

  test.each([
    ["a broken percent-encoding", `${encoded}&rationale=%zz`],
    ["a lone percent sign", `${encoded}&rationale=100%`],
    ["percent-encoded bytes that are not UTF-8", `${encoded}&rationale=%ff`],
    ["an overlong encoding", `${encoded}&rationale=%C0%AF`],
    ["a percent-encoded surrogate", `${encoded}&rationale=%ED%A0%80`],
    ["a broken key", `${encoded}&%E0%A4=1`],
    ["bytes that are not UTF-8", bytes(`${encoded}&rationale=`, [0xff])],
    ["half a character at the end", bytes(`${encoded}&rationale=`, [0xc3])],
  ])("form: %s is rejected", async (_, body) => refuses(await open(), body, FORM, "body"));

  test.each([
    ["text that is not JSON", `{${members},}`],
    ["an empty body", ""],
    ["a list", `[{${members}}]`],
    ["a string", '"x"'],
    ["null", "null"],
    ["a number", "1"],
    ["two values", `{${members}}{}`],
    ["bytes that are not UTF-8", bytes(`{${members},"rationale":"`, [0xff], '"}')],
    ["a lone surrogate", `{${members},"rationale":"\\ud800"}`],
    ["a lone surrogate within value", `{${members},"value":{"a":["\\udc00 x"]}}`],
    ["a lone surrogate in a member's name", `{${members},"value":{"\\ud800":1}}`],
    ["a repeated member", `{${members},"kind":"config"}`],
    ["a repeated member, escaped", `{${members},"k\\u0069nd":"config"}`],
    ["a repeated member at depth", `{${members},"value":[{"a":{"b":1,"c":{"d":1,"d":2}}}]}`],
  ])("JSON: %s is rejected", async (_, body) => refuses(await open(), body, JSON_TYPE, "body"));

  test.each([
    ["beyond the range of numbers", "1e999"],
    ["beyond it, within", '{"a":[-1e999]}'],
    ["too deep to be stored", "[".repeat(201) + "]".repeat(201)],
    ["too deep to be read", "[".repeat(10_000) + "]".repeat(10_000)],
  ])("a value %s is rejected", async (_, value) => {
    const api = await open();
    await refuses(api, `{${members},"value":${value}}`, JSON_TYPE);
    await refuses(api, `${encoded}&value=${encodeURIComponent(value)}`, FORM, "value");
  });

  test.each([
    ["not JSON", "{a:1}"],
    ["empty", ""],
    ["a repeated member", '{"a":1,"a":2}'],
    ["a lone surrogate", '"\\ud800"'],
  ])("a form's value that is %s is rejected", async (_, value) =>
    refuses(await open(), `${encoded}&value=${encodeURIComponent(value)}`, FORM, "value"),
  );

  test.each([
    ["the same key", `${encoded}&kind=config`, "kind"],
    ["the same key, percent-encoded", `${encoded}&%6Bind=config`, "kind"],
    ["a key without a value", `${encoded}&kind`, "kind"],
    ["__proto__ twice", `${encoded}&__proto__=1&__proto__=2`, "__proto__"],
  ])("form: %s given twice is rejected", async (_, body, field) => refuses(await open(), body, FORM, field));

  test.each(["gzip", "br", "deflate, gzip"])(
    "a body with Content-Encoding %s gets 415, and the error names it",
    async (encoding) => {
      const api = await open();
      const gzipped = new Response(new Blob([encoded]).stream().pipeThrough(new CompressionStream("gzip")));
      const body = new Uint8Array(await gzipped.arrayBuffer());
      for (const path of ["propose", "/api/tasks", "/add-checkpoint"]) {
        const reply = await api.raw(path, body, { ...FORM, "content-encoding": encoding });
        expect(reply, path).toMatchObject({ status: 415, body: { code: "unsupported_media_type" } });
        expect(reply.body.error).toContain(`content-encoding "${encoding}"`);
      }
    },
  );

  test("a repeated query parameter is rejected", async () => {
    const api = await open();
    expect(await api.get("audit?limit=1&limit=1")).toMatchObject({ status: 400, body: { code: "invalid_field" } });
    expect(await api.get("audit?tenant=a&t%65nant=a")).toMatchObject({ status: 400 });
  });

  test.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
    "%s is treated as any other field",
    async (name) => {
      const api = await open();
      await refuses(api, `${encoded}&${name}=1`, FORM, name);
      await refuses(api, `{${members},"${name}":{"tier":"minor"}}`, JSON_TYPE, name);
      expect(await api.post("kpi", { csat: 1, [name]: 1 })).toMatchObject({ status: 400 });
    },
  );

  test.each([
    '{"__proto__":{"a":1},"constructor":null}',
    '{"b":[1,2.5,-0.1,1e-7,true,null,"é😀"],"a":{"":{}}}',
    '"text"',
    "0",
    "null",
    "[]",
  ])("the value %s is returned unchanged, from a form and from JSON", async (value) => {
    const api = await open();
    const fromForm = await api.raw("propose", `${encoded}&value=${encodeURIComponent(value)}`, FORM);
    const fromJson = await api.raw("propose", `{${members},"value":${value}}`, JSON_TYPE);
    expect(fromForm.text).toContain(`"value":${value},`);
    expect(fromJson.text).toContain(`"value":${value},`);
    expect(fromJson.body.digest).toBe(fromForm.body.digest);
  });

  test("a body of 64 KiB is read, and one byte more gets 413", async () => {
    const api = await open();
    const send = (init: RequestInit) =>
      api.send(new Request(`${api.origin}/api/product/propose`, { method: "POST", headers: FORM, ...init }));
    expect(sized(LIMIT)).toHaveLength(LIMIT);
    for (const [size, status] of [
      [LIMIT, 201],
      [LIMIT + 1, 413],
      [LIMIT * 3, 413],
    ] as const) {
      const body = sized(size);
      expect((await send({ body })).status, `${size} bytes`).toBe(status);
      const declared = { ...FORM, "content-length": String(size) };
      expect((await send({ body, headers: declared })).status, `${size} bytes, declared`).toBe(status);
      expect((await send(streamed(body))).status, `${size} bytes, streamed`).toBe(status);
    }
    expect(await api.steps()).toHaveLength(3);
  });

  test("the limit counts bytes, not characters", async () => {
    const api = await open();
    const body = `${encoded}&value="${"é".repeat(LIMIT / 2)}"`;
    expect(body.length).toBeLessThan(LIMIT);
    expect(await api.raw("propose", bytes(body), FORM)).toMatchObject({
      status: 413,
      body: { code: "payload_too_large" },
    });
  });
}
