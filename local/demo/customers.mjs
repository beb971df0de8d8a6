/** The shop's customers, made up: what they do depends on what the shop shows, and a little on the day. */

/** The `count`th measurement: the mean basket in euros, and how many of 100 baskets become orders. */
export function computeFigures({ freeFrom, guests, deliveryDay }, count) {
  const day = Math.sin(count * 2);
  return {
    basket_value: Number((38 + (freeFrom - 35) * 0.36 + day * 0.3).toFixed(2)),
    checkout_rate: Number((61 - (guests ? 0 : 7) + (deliveryDay ? 2.6 : 0) + day * 0.3).toFixed(1)),
  };
}
