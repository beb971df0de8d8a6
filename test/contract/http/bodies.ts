/** Request bodies: content type, encoding and size limit; ambiguous bodies are rejected. */
import { expect, test } from "vitest";
import type { Client } from "../../support/client.ts";
import { PROPOSAL } from "../../support/client.ts";
import type { Open } from "../http_contract.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const JSON_TYPE = { "content-type": "application/json" };
const LIMIT = 64 * 1024;
const members = JSON.stringify(PROPOSAL).slice(1, -1);
const encodedForm = new URLSearchParams(PROPOSAL).toString();

/** Returns the bytes of texts and numbers. */
const toBytes = (...parts: (string | number[])[]): Uint8Array<ArrayBuffer> =>
  new Uint8Array(parts.flatMap((part) => (typeof part === "string" ? [...new TextEncoder().encode(part)] : part)));

/** Returns a body without a known length. */
const streamBody = (text: string): RequestInit => ({
  body: new Blob([text]).stream(),
  ...({ duplex: "half" } as RequestInit),
});

/** Returns a form of a number of bytes, with a quoted text as its value. */
function formOfSize(size: number): string {
  const [start, end] = [`${encodedForm}&value=%22`, "%22"];
  return start + "a".repeat(size - start.length - end.length) + end;
}

async function expectRejected(api: Client, body: BodyInit, headers: HeadersInit, field?: string): Promise<void> {
  const rejected = await api.raw("propose", body, headers);
  expect([rejected.status, rejected.body?.code], rejected.text).toEqual([400, "invalid_field"]);
  if (field !== undefined)
    expect(rejected.body.fields.map((invalid: { field: string }) => invalid.field)).toEqual([field]);
  expect(await api.audit()).toEqual([]);
}

export function bodyRules(open: Open): void {
  test.each([
    ["application/x-www-form-urlencoded", encodedForm],
    ["application/x-www-form-urlencoded; charset=utf-8", encodedForm],
    ["Application/X-WWW-Form-URLEncoded", encodedForm],
    ["text/plain", encodedForm],
    ["text/plain;charset=UTF-8", encodedForm],
    ["application/json", `{${members}}`],
    ["application/json; charset=utf-8", `{${members}}`],
    ["APPLICATION/JSON", `{${members}}`],
  ])("a body of type %s is accepted", async (type, body) => {
    const { status, text } = await (await open()).raw("propose", body, { "content-type": type });
    expect(status, text).toBe(201);
  });

  test("a body without a content type is read as a form", async () => {
    const api = await open();
    const request = new Request(`${api.origin}/api/product/propose`, { method: "POST", body: toBytes(encodedForm) });
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
          body: toBytes(body),
          headers,
        });
        const { status, body: error } = await api.send(request);
        expect([status, error.code, error.fields[0].field]).toEqual([400, "invalid_field", "body"]);
        // Lambda's HTTP front end decodes a body without a type as text.
        expect(error.error).toMatch(type === undefined ? /without a content type|as "text\/plain/ : `as "${type}"`);
        expect(error.error).toContain("add the header content-type: application/json");
      }
    },
  );

  test.each(["application/xml", "multipart/form-data; boundary=x", "text/html", "application/jsonl", "json", "*/*"])(
    "%s is 415",
    async (type) => {
      const rejected = await (await open()).raw("propose", encodedForm, { "content-type": type });
      expect(rejected).toMatchObject({ status: 415, body: { code: "unsupported_media_type" } });
    },
  );

  test("form text is UTF-8, and + is a space", async () => {
    const api = await open();
    const body = "tenant_id=t%C3%A9+1&kind=config&target=ui.x&summary=caf%C3%A9+%E6%9D%8E+%F0%9F%98%80+%2B&&";
    const { body: change } = await api.raw("propose", body, FORM);
    expect([change.tenant_id, change.summary]).toEqual(["té 1", "café 李 😀 +"]);
    const unescaped = await api.raw("propose", toBytes(body.replace("caf%C3%A9", "café")), FORM);
    expect(unescaped.body.summary).toBe(change.summary);
  });

  test("U+FFFD, which broken bytes decode to, is accepted when it is escaped", async () => {
    const api = await open();
    expect((await api.raw("propose", `${encodedForm}&rationale=%EF%BF%BD`, FORM)).body.rationale).toBe("\uFFFD");
    const escaped = `{${members},"rationale":"\\ufffd"}`;
    expect((await api.raw("propose", escaped, JSON_TYPE)).body.rationale).toBe("\uFFFD");
  });

  test.each([
    ["a broken percent-encoding", `${encodedForm}&rationale=%zz`],
    ["a lone percent sign", `${encodedForm}&rationale=100%`],
    ["percent-encoded bytes that are not UTF-8", `${encodedForm}&rationale=%ff`],
    ["an overlong encoding", `${encodedForm}&rationale=%C0%AF`],
    ["a percent-encoded surrogate", `${encodedForm}&rationale=%ED%A0%80`],
    ["a broken key", `${encodedForm}&%E0%A4=1`],
    ["bytes that are not UTF-8", toBytes(`${encodedForm}&rationale=`, [0xff])],
    ["half a character at the end", toBytes(`${encodedForm}&rationale=`, [0xc3])],
  ])("a form with %s is rejected", async (_, body) => expectRejected(await open(), body, FORM, "body"));

  test.each([
    ["text that is not JSON", `{${members},}`],
    ["an empty body", ""],
    ["a list", `[{${members}}]`],
    ["a string", '"x"'],
    ["null", "null"],
    ["a number", "1"],
    ["two values", `{${members}}{}`],
    ["bytes that are not UTF-8", toBytes(`{${members},"rationale":"`, [0xff], '"}')],
    ["a lone surrogate", `{${members},"rationale":"\\ud800"}`],
    ["a lone surrogate within value", `{${members},"value":{"a":["\\udc00 x"]}}`],
    ["a lone surrogate in a member's name", `{${members},"value":{"\\ud800":1}}`],
    ["a repeated member", `{${members},"kind":"config"}`],
    ["a repeated member, escaped", `{${members},"k\\u0069nd":"config"}`],
    ["a repeated member at depth", `{${members},"value":[{"a":{"b":1,"c":{"d":1,"d":2}}}]}`],
  ])("%s is rejected as a JSON body", async (_, body) => expectRejected(await open(), body, JSON_TYPE, "body"));

  test.each([
    ["beyond the range of numbers", "1e999"],
    ["with a member beyond the range of numbers", '{"a":[-1e999]}'],
    ["too deep to be stored", "[".repeat(201) + "]".repeat(201)],
    ["too deep to be read", "[".repeat(10_000) + "]".repeat(10_000)],
  ])("a value %s is rejected", async (_, value) => {
    const api = await open();
    // The field is not compared: too deep a value makes all of a JSON body invalid, and the error names `body`.
    await expectRejected(api, `{${members},"value":${value}}`, JSON_TYPE);
    await expectRejected(api, `${encodedForm}&value=${encodeURIComponent(value)}`, FORM, "value");
  });

  test.each([
    ["not JSON", "{a:1}"],
    ["empty", ""],
    ["a repeated member", '{"a":1,"a":2}'],
    ["a lone surrogate", '"\\ud800"'],
  ])("a form's value that is %s is rejected", async (_, value) =>
    expectRejected(await open(), `${encodedForm}&value=${encodeURIComponent(value)}`, FORM, "value"),
  );

  test.each([
    ["the same key", `${encodedForm}&kind=config`, "kind"],
    ["the same key, percent-encoded", `${encodedForm}&%6Bind=config`, "kind"],
    ["the same key, the second time without a value,", `${encodedForm}&kind`, "kind"],
    ["__proto__", `${encodedForm}&__proto__=1&__proto__=2`, "__proto__"],
  ])("a form with %s twice is rejected", async (_, body, field) => expectRejected(await open(), body, FORM, field));

  test.each(["gzip", "br", "deflate, gzip"])(
    "a body with Content-Encoding %s gets 415, and the error names it",
    async (encoding) => {
      const api = await open();
      const gzipped = new Response(new Blob([encodedForm]).stream().pipeThrough(new CompressionStream("gzip")));
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
      await expectRejected(api, `${encodedForm}&${name}=1`, FORM, name);
      await expectRejected(api, `{${members},"${name}":{"tier":"minor"}}`, JSON_TYPE, name);
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
    const fromForm = await api.raw("propose", `${encodedForm}&value=${encodeURIComponent(value)}`, FORM);
    const fromJson = await api.raw("propose", `{${members},"value":${value}}`, JSON_TYPE);
    expect(fromForm.text).toContain(`"value":${value},`);
    expect(fromJson.text).toContain(`"value":${value},`);
    expect(fromJson.body.digest).toBe(fromForm.body.digest);
  });

  test("a body of 64 KiB is read, and one byte more gets 413", async () => {
    const api = await open();
    const send = (init: RequestInit) =>
      api.send(new Request(`${api.origin}/api/product/propose`, { method: "POST", headers: FORM, ...init }));
    expect(formOfSize(LIMIT)).toHaveLength(LIMIT);
    for (const [size, status] of [
      [LIMIT, 201],
      [LIMIT + 1, 413],
      [LIMIT * 3, 413],
    ] as const) {
      const body = formOfSize(size);
      expect((await send({ body })).status, `${size} bytes`).toBe(status);
      const declared = { ...FORM, "content-length": String(size) };
      expect((await send({ body, headers: declared })).status, `${size} bytes, declared`).toBe(status);
      expect((await send(streamBody(body))).status, `${size} bytes, streamed`).toBe(status);
    }
    expect(await api.steps()).toHaveLength(3);
  });

  test("the limit counts bytes, not characters", async () => {
    const api = await open();
    const body = `${encodedForm}&value="${"é".repeat(LIMIT / 2)}"`;
    expect(body.length).toBeLessThan(LIMIT);
    expect(await api.raw("propose", toBytes(body), FORM)).toMatchObject({
      status: 413,
      body: { code: "payload_too_large" },
    });
  });
}
