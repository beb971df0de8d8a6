/** Simulates the shop's customers: their orders depend on what the shop shows, and a little on the day. */

/** Computes the KPIs of measurement `count`: the mean basket in euros, and how many of 100 baskets become orders. */
export function computeKpis({ freeFrom, guests, deliveryDay }, count) {
  const variation = Math.sin(count * 2);
  return {
    basket_value: Number((38 + (freeFrom - 35) * 0.36 + variation * 0.3).toFixed(2)),
    checkout_rate: Number((61 - (guests ? 0 : 7) + (deliveryDay ? 2.6 : 0) + variation * 0.3).toFixed(1)),
  };
}
