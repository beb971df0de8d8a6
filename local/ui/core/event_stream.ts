/** Server-sent events read by `fetch`, since the browser's `EventSource` cannot send a token. */

/** Calls `onEvent` with each event until the answer ends. The service sends one `data` line per event; heartbeats have none. */
export async function readEvents(response: Response, onEvent: (type: string, data: string) => void): Promise<void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let incomplete = "";
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const events = (incomplete + chunk.value).split("\n\n");
    incomplete = events.pop()!;
    for (const event of events) {
      const lines = event.split("\n");
      const field = (name: string) => lines.find((line) => line.startsWith(name))?.slice(name.length);
      const data = field("data: ");
      if (data !== undefined) onEvent(field("event: ") ?? "message", data);
    }
  }
}
