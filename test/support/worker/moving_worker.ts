/** A Durable Object that exports its store as a file, imports one or writes a record, by the last part of the path. */
import { DurableObject } from "cloudflare:workers";
import { exportStore, importStore, splitLines } from "../../../lib/changes/moving/library.ts";
import { durableObjectStore } from "../../../lib/store/durable_object.ts";

export class Product extends DurableObject {
  readonly #store = durableObjectStore(this.ctx.storage);

  override async fetch(request: Request): Promise<Response> {
    const action = new URL(request.url).pathname.split("/").at(-1) as "export" | "backup" | "import" | "write";
    try {
      return new Response(await this.#answer(action, request));
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  }

  async #answer(action: "export" | "backup" | "import" | "write", request: Request): Promise<string> {
    const store = this.#store;
    if (action === "import") {
      const file = new Blob([await request.arrayBuffer()]);
      const lines = () => splitLines(file.stream());
      const { log } = await importStore({ name: "the file", lines }, "import", { to: store, name: "an object" });
      return JSON.stringify(log);
    }
    if (action === "write") {
      await store.transact((tx) => tx.put("review_due", "late", true));
      return String((await store.get("review_due", "late"))!.revision);
    }
    let text = "";
    for await (const chunk of exportStore({ from: store.bulk!, name: "an object" }, { kind: action, to: "the file" }))
      text += chunk;
    return text;
  }
}

export default {
  fetch(request: Request, env: { OBJECTS: { idFromName(name: string): unknown; get(id: unknown): Product } }) {
    const name = new URL(request.url).pathname.split("/")[1]!;
    return env.OBJECTS.get(env.OBJECTS.idFromName(name)).fetch(request);
  },
};
