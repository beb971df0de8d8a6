// products.ts
import { Pool } from "pg";
import { countersign, type Service } from "countersign";
import { postgresStore } from "countersign/stores/postgres";

const pool = new Pool({ connectionString: process.env["DATABASE_URL"], query_timeout: 10_000 });
pool.on("error", console.error);
const open = new Map<string, Promise<Service>>();

async function opened(product_id: string, intent: object): Promise<Service> {
  const store = await postgresStore({ pool, name: product_id });
  return countersign({ store, intent, base: `/p/${product_id}` });
}

/** Answers `/p/<product_id>/…`; `intents` are those of the products that there are. */
export async function answer(request: Request, intents: ReadonlyMap<string, object>): Promise<Response> {
  const [, , id = ""] = new URL(request.url).pathname.split("/");
  const intent = intents.get(id);
  if (!intent) return new Response("there is no such product", { status: 404 });
  let service = open.get(id);
  if (!service) {
    service = opened(id, intent);
    open.set(id, service);
    service.catch(() => open.delete(id)); // the next request tries again
  }
  return (await service).fetch(request);
}

/** To be called every minute: of an idle product that is one statement. */
export const cycles = async (): Promise<void> => {
  for (const service of open.values()) await (await service).cycle();
};
