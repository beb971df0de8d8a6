/** Reads server-sent events as a browser does. */
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";

/** One event of the stream. */
export interface StreamEvent {
  id: string;
  event: string;
  // oxlint-disable-next-line no-explicit-any -- any JSON
  data: any;
}

/** Connects, and waits until the stream has begun. */
export async function readEvents(url: string, headers: Record<string, string> = {}) {
  const sent = httpRequest(url, { headers, agent: false }).end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  sent.on("error", () => undefined);
  const blocks = splitBlocks(answer);
  // The first block, `retry: …`, is no event.
  await blocks.next();
  return {
    /** Returns the next event of this type and skips those before it. */
    async next(event: string): Promise<StreamEvent> {
      for (;;) {
        const { value, done } = await blocks.next();
        if (done) throw new Error("the stream has ended");
        const fields = new Map(value.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]));
        if (fields.get("event") === event)
          return { id: fields.get("id")!, event, data: JSON.parse(fields.get("data")!) };
      }
    },
    stop: () => void sent.destroy(),
  };
}

/** Yields the blocks of the stream; an empty line ends each block. */
async function* splitBlocks(answer: IncomingMessage): AsyncGenerator<string, undefined> {
  let text = "";
  for await (const piece of answer.setEncoding("utf8")) {
    const parts = (text + (piece as string)).split("\n\n");
    text = parts.pop()!;
    yield* parts;
  }
}
