/** A figure with three places at most; `null` where there is none. */
export const figure = (value: number | null, none = "no data"): string =>
  value === null ? none : String(Number(value.toFixed(3)));
