/** Renders the page of the demo's shop. */

/** Returns the sentences of the page that customers see, by the target that decides each. */
const listSentences = ({ freeFrom, guests, deliveryDay }) => ({
  "delivery.free_from": `Free delivery from €${freeFrom}`,
  "checkout.guests": guests ? "Pay as a guest" : "Sign in to pay",
  "page.delivery_day": deliveryDay ? "Order today, and it comes on Thursday" : "We deliver",
});

/** Returns the page for the settings that `listSentences` takes; it reloads every two seconds. */
export function renderShop(settings) {
  const items = Object.entries(listSentences(settings)).map(
    ([target, text]) => `<li data-target="${target}">${text}</li>`,
  );
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="refresh" content="2" />
    <meta name="viewport" content="width=device-width" />
    <title>Tea shop</title>
    <style>
      :root { color-scheme: light dark; font: 18px/1.6 system-ui, sans-serif; }
      body { max-width: 30rem; margin: 4rem auto; padding: 0 1rem; }
    </style>
  </head>
  <body>
    <h1>Tea shop</h1>
    <p>Darjeeling, first flush, 100 g: €12</p>
    <ul>${items.join("")}</ul>
  </body>
</html>
`;
}
