import { expect, test } from "vitest";
import { BODY_LIMIT, readBody } from "../../../lib/http/body.ts";
import { ORIGIN } from "../../support/requests.ts";

const post = (body: BodyInit | null, headers: HeadersInit = {}): Request =>
  new Request(ORIGIN, { method: "POST", body, headers, ...({ duplex: "half" } as RequestInit) });

test("a declared length over the limit is refused unread", async () => {
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

test("a declared length that is too small does not hide a large body", async () => {
  const request = post("a".repeat(BODY_LIMIT + 1), { "content-length": "1" });
  await expect(readBody(request)).rejects.toMatchObject({ code: "payload_too_large" });
});

test("a flood without a length is stopped at the limit", async () => {
  let sent = 0;
  let cancelled = false;
  const flood = new ReadableStream({
    pull(controller) {
      sent += 1024;
      if (sent > 8 * BODY_LIMIT) controller.close();
      else controller.enqueue(new Uint8Array(1024));
    },
    cancel() {
      cancelled = true;
    },
  });
  await expect(readBody(post(flood))).rejects.toMatchObject({ code: "payload_too_large" });
  expect(cancelled).toBe(true);
  expect(sent).toBeLessThan(2 * BODY_LIMIT);
});

test("characters split between pieces are put together", async () => {
  const bytes = new TextEncoder().encode("é😀");
  const pieces = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
      controller.close();
    },
  });
  expect(await readBody(post(pieces))).toBe("é😀");
});

test("no body is empty text", async () => {
  expect(await readBody(post(null))).toBe("");
});
