/** The event stream of a page is opened with the newest token. */
import { expect, onTestFinished, test, vi } from "vitest";

/** A request for the event stream: its token, and the function that answers it. */
interface StreamRequest {
  token: string | null;
  answer: (response: Response) => void;
  signal: AbortSignal;
}

test("a token entered while the stream is being opened opens it again with the token", async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const page = {
    hidden: false,
    baseURI: "http://service.test/",
    addEventListener: () => {},
    querySelector: () => null,
  };
  vi.stubGlobal("document", page);
  const streams: StreamRequest[] = [];
  vi.stubGlobal("fetch", (url: string, { headers, signal }: { headers?: HeadersInit; signal: AbortSignal }) =>
    url.endsWith("api/events")
      ? new Promise<Response>((answer, reject) => {
          streams.push({ token: new Headers(headers).get("x-svc-admin-token"), answer, signal });
          signal.addEventListener("abort", () => reject(signal.reason));
        })
      : Promise.resolve(new Response(null, { status: 401 })),
  );
  const { freshness, startLive } = await import("../../local/ui/core/live.ts");
  const { adminToken } = await import("../../local/ui/core/session.ts");
  startLive();
  adminToken.set("a-token");
  streams[0]!.answer(new Response(null, { status: 401 }));
  // Several polls, but less than the minute after which a rejected stream is opened again: the late 401 causes no such wait.
  await vi.advanceTimersByTimeAsync(15_000);
  expect(streams.map(({ token }) => token)).toEqual([null, "a-token"]);
  expect(streams[0]!.signal.aborted).toBe(true);
  streams[1]!.answer(new Response(new ReadableStream()));
  await vi.advanceTimersByTimeAsync(1);
  expect(freshness.get().mode).toBe("live");
  // A token entered while the stream is open does not open another one.
  adminToken.set("another-token");
  await vi.advanceTimersByTimeAsync(30_000);
  expect(streams).toHaveLength(2);
});
