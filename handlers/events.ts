import * as z from "zod";
import type { ChangesDeps } from "../lib/changes/deps.ts";
import type { Deps } from "../lib/deps.ts";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { clientAddress } from "../lib/http/address.ts";
import { AppError, invalidField } from "../lib/kit/errors.ts";
import { type EventCursor, parseCursor, readPresentCursor, resumeCursor } from "../lib/operations/event_cursor.ts";
import { createEventStream } from "../lib/operations/event_stream.ts";

/** Maximum number of concurrent streams of a process, and of one reader: a person, or the address of an unnamed reader. */
const MAX_STREAMS = 64;
const MAX_STREAMS_PER_READER = 16;

/**
 * GET /api/events: server-sent events, one for each audit entry, growth row and tick, from now on or after a cursor.
 * `Last-Event-ID` takes precedence over `after`, since a browser that reconnects repeats its original address.
 */
export const events = endpoint(
  {
    method: "GET",
    path: "/api/events",
    summary: "Server-sent events",
    operation: "streamEvents",
    description: "Server-sent events of entries, growth rows and ticks.",
    example: { after: "12.12000000.11900000.3" },
    input: z.object({
      after: z.string().optional().describe("Id of the last event that was read; absent: from now on."),
    }),
    output: z.string().meta({ contentMediaType: "text/event-stream" }),
    errors: ["too_many_streams"],
  },
  async ({ after }, { deps, request, identity: { person } }: Call<ChangesDeps>) => {
    const cursorText = request.headers.get("last-event-id") || after;
    const requestedCursor = cursorText === undefined ? undefined : parseCursor(cursorText);
    if (cursorText !== undefined && !requestedCursor) throw invalidField("after", "must be the id of an event");
    const present = await readPresentCursor(deps.store);
    const from = requestedCursor ? resumeCursor(present, requestedCursor) : present;
    return new Response(request.method === "HEAD" ? null : openStream(deps, from, person || clientAddress(request)), {
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
        "x-content-type-options": "nosniff",
      },
    });
  },
);

function openStream(deps: Deps, from: EventCursor, reader: string | undefined): ReadableStream<Uint8Array> {
  // A host without a signal of commits does not limit its streams.
  const release = deps.commits?.join(MAX_STREAMS, MAX_STREAMS_PER_READER, reader);
  if (deps.commits && !release)
    throw new AppError(
      "too_many_streams",
      `${MAX_STREAMS} readers of events are served at a time, ${MAX_STREAMS_PER_READER} from one address; close one, or try again later`,
      {},
      { "retry-after": "30" },
    );
  return createEventStream(deps, from, release);
}
