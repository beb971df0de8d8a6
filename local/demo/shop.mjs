/**
 * The shop, a host product: `node local/demo/shop.mjs SERVICE_URL`. At each visit it reads its flags over OpenFeature,
 * without a secret; a flag without an applied change has the default value in the code below.
 */
import { createServer } from "node:http";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OpenFeature } from "@openfeature/server-sdk";
import { computeKpis } from "./customers.mjs";
import { renderShop } from "./shop_page.mjs";

const TENANT = { targetingKey: "teashop" };

await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl: process.argv[2] }));
const flags = OpenFeature.getClient();

const readSettings = async () => ({
  freeFrom: await flags.getNumberValue("delivery.free_from", 35, TENANT),
  guests: await flags.getBooleanValue("checkout.guests", true, TENANT),
  deliveryDay: await flags.getBooleanValue("page.delivery_day", false, TENANT),
});

let measurements = 0;
const ROUTES = {
  "/": async () => ["text/html; charset=utf-8", renderShop(await readSettings())],
  "/figures": async () => ["application/json", JSON.stringify(computeKpis(await readSettings(), ++measurements))],
};

const server = createServer(async ({ url }, response) => {
  const route = ROUTES[url];
  if (!route) return void response.writeHead(404).end();
  const [type, body] = await route();
  response.writeHead(200, { "content-type": type, "cache-control": "no-store" }).end(body);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
