/**
 * The shop, a host product: `node local/demo/shop.mjs SERVICE_URL`. At each visit it asks over OpenFeature what to show; it
 * holds no secret, and where nothing was applied the value in its code holds.
 */
import { createServer } from "node:http";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OpenFeature } from "@openfeature/server-sdk";
import { computeFigures } from "./customers.mjs";
import { renderShop } from "./shop_page.mjs";

const TENANT = { targetingKey: "teashop" };

await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl: process.argv[2] }));
const flags = OpenFeature.getClient();

const settings = async () => ({
  freeFrom: await flags.getNumberValue("delivery.free_from", 35, TENANT),
  guests: await flags.getBooleanValue("checkout.guests", true, TENANT),
  deliveryDay: await flags.getBooleanValue("page.delivery_day", false, TENANT),
});

let measured = 0;
const ROUTES = {
  "/": async () => ["text/html; charset=utf-8", renderShop(await settings())],
  "/figures": async () => ["application/json", JSON.stringify(computeFigures(await settings(), ++measured))],
};

const server = createServer(async ({ url }, response) => {
  const answer = ROUTES[url];
  if (!answer) return void response.writeHead(404).end();
  const [type, body] = await answer();
  response.writeHead(200, { "content-type": type, "cache-control": "no-store" }).end(body);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
