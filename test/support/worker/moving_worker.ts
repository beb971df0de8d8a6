/** A store in a Durable Object that gives itself out as a file, and takes one. */
import { DurableObject } from "cloudflare:workers";
import { exportStore, importStore, splitLines } from "../../../lib/changes/moving/library.ts";
import { durableObjectStore } from "../../../lib/store/durable_object.ts";

export class Product extends DurableObject {
  readonly #store = durableObjectStore(this.ctx.storage);

  override async fetch(request: Request): Promise<Response> {
    const how = new URL(request.url).pathname.split("/").at(-1) as "export" | "backup" | "import" | "write";
    try {
      return new Response(await this.#answer(how, request));
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  }

  async #answer(how: "export" | "backup" | "import" | "write", request: Request): Promise<string> {
    const store = this.#store;
    if (how === "import") {
      const file = new Blob([await request.arrayBuffer()]);
      const lines = () => splitLines(file.stream());
      const { log } = await importStore({ name: "the file", lines }, "import", { to: store, name: "an object" });
      return JSON.stringify(log);
    }
    if (how === "write") {
      await store.transact((tx) => tx.put("review_due", "late", true));
      return String((await store.get("review_due", "late"))!.revision);
    }
    let text = "";
    for await (const piece of exportStore({ from: store.bulk!, name: "an object" }, { kind: how, to: "the file" }))
      text += piece;
    return text;
  }
}

export default {
  fetch(request: Request, env: { OBJECTS: { idFromName(name: string): unknown; get(id: unknown): Product } }) {
    const name = new URL(request.url).pathname.split("/")[1]!;
    return env.OBJECTS.get(env.OBJECTS.idFromName(name)).fetch(request);
  },
};
