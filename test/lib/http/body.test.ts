/** Request bodies: the maximum size, chunks, and text fields of forms. */
import { expect, test } from "vitest";
import { BODY_LIMIT, readBody, readFields } from "../../../lib/http/body.ts";
import { ORIGIN } from "../../support/requests.ts";

// Without `duplex`, which the type of the options lacks, a request with a stream as its body is rejected.
const post = (body: BodyInit | null, headers: HeadersInit = {}): Request =>
  new Request(ORIGIN, { method: "POST", body, headers, ...({ duplex: "half" } as RequestInit) });

test("a body whose declared length exceeds the limit is rejected unread", async () => {
  let read = false;
  const body = new ReadableStream(
    {
      pull(controller) {
        read = true;
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const request = post(body, { "content-length": String(BODY_LIMIT + 1) });
  await expect(readBody(request)).rejects.toMatchObject({ code: "payload_too_large" });
  expect(read).toBe(false);
});

test("a text in a form without JSON quotes is rejected, and the error shows it with quotes", async () => {
  const form = (value: string) => readFields(post(new URLSearchParams({ value })), { jsonFields: ["value"] });
  await expect(form("hello")).rejects.toThrow(/value is not valid JSON; in a form a text stands in quotes: "hello"$/);
  await expect(form('{"a":1,"a":2}')).rejects.toThrow(/value repeats the member "a"$/);
  expect((await form('"hello"')).fields).toEqual({ value: "hello" });
});

test("a large body is rejected although its declared length is small", async () => {
  const request = post("a".repeat(BODY_LIMIT + 1), { "content-length": "1" });
  await expect(readBody(request)).rejects.toMatchObject({ code: "payload_too_large" });
});

/** Creates a body of 1 KiB chunks without a length; `ended` resolves with the way reading ended and the bytes sent. */
function createStream(size: number) {
  let sent = 0;
  let end = (_: [how: string, sent: number]): void => undefined;
  const ended = new Promise<[how: string, sent: number]>((resolve) => (end = resolve));
  const body = new ReadableStream({
    pull(controller) {
      if (sent < size) {
        controller.enqueue(new Uint8Array(1024));
        sent += 1024;
      } else {
        controller.close();
        end(["read", sent]);
      }
    },
    cancel: () => end(["cancelled", sent]),
  });
  return { body, ended };
}

// Up to 1 MiB of a rejected body, 16 times the limit, is read and discarded.
test("a body without a length is rejected at the limit, and the rest is discarded", async () => {
  const { body, ended } = createStream(8 * BODY_LIMIT);
  await expect(readBody(post(body))).rejects.toMatchObject({ code: "payload_too_large" });
  expect(await ended).toEqual(["read", 8 * BODY_LIMIT]);
});

test("the connection of an endless body without a length is closed", async () => {
  const { body, ended } = createStream(Infinity);
  await expect(readBody(post(body))).rejects.toMatchObject({ code: "payload_too_large" });
  const [how, sent] = await ended;
  expect(how).toBe("cancelled");
  expect(sent).toBeLessThan(32 * BODY_LIMIT);
});

test("characters that are split between chunks are joined", async () => {
  const bytes = new TextEncoder().encode("é😀");
  const chunks = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
      controller.close();
    },
  });
  expect(await readBody(post(chunks))).toBe("é😀");
});

test("a missing body is empty text", async () => {
  expect(await readBody(post(null))).toBe("");
});
