/** Exact arithmetic on the decimal text of numbers: 0.1 + 0.2 is 0.3, and 1e308 times 5 does not become Infinity. */

/** `digits` times ten to the power of `exponent`. */
export interface Decimal {
  digits: bigint;
  exponent: number;
}

/** Converts a finite number, by its shortest decimal text. */
export function readDecimal(number: number): Decimal {
  const [coefficient, exponent = "0"] = String(number).split("e") as [string, string?];
  const [whole, fraction = ""] = coefficient.split(".") as [string, string?];
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

/** Returns the digits of two decimals, scaled to the smaller of their exponents. */
function align(a: Decimal, b: Decimal): { a: bigint; b: bigint; exponent: number } {
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = (decimal: Decimal): bigint => decimal.digits * 10n ** BigInt(decimal.exponent - exponent);
  return { a: scaled(a), b: scaled(b), exponent };
}

export function add(a: Decimal, b: Decimal): Decimal {
  const aligned = align(a, b);
  return { digits: aligned.a + aligned.b, exponent: aligned.exponent };
}

export const negate = ({ digits, exponent }: Decimal): Decimal => ({ digits: -digits, exponent });

export const absoluteValue = (a: Decimal): Decimal => (a.digits < 0n ? negate(a) : a);

export const multiply = (a: Decimal, b: Decimal): Decimal => ({
  digits: a.digits * b.digits,
  exponent: a.exponent + b.exponent,
});

/** Returns a negative number, 0 or a positive one, as `a` is below, equal to or above `b`. */
export function compare(a: Decimal, b: Decimal): -1 | 0 | 1 {
  const aligned = align(a, b);
  if (aligned.a < aligned.b) return -1;
  return aligned.a > aligned.b ? 1 : 0;
}

/** Returns the number that is nearest to a decimal and not above it. */
export function floorToNumber(a: Decimal): number {
  const near = Number(`${a.digits}e${a.exponent}`);
  const finite = Math.min(Math.max(near, -Number.MAX_VALUE), Number.MAX_VALUE);
  return compare(readDecimal(finite), a) > 0 ? nextBelow(finite) : finite;
}

/** Returns the number that is nearest to a decimal and not below it; the subtraction avoids -0. */
export const ceilToNumber = (a: Decimal): number => 0 - floorToNumber(negate(a));

/** Returns the greatest double below a finite one. */
function nextBelow(number: number): number {
  if (number === 0) return -Number.MIN_VALUE;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  // As an integer, the bits of a double rise with its absolute value.
  view.setBigInt64(0, view.getBigInt64(0) + (number > 0 ? -1n : 1n));
  return Math.max(view.getFloat64(0), -Number.MAX_VALUE);
}

/** Returns true if a number is a whole multiple of `factor`, which is not 0, by their decimal text. */
export function isIntegerMultiple(number: number, factor: number): boolean {
  const { a, b } = align(readDecimal(number), readDecimal(factor));
  return a % b === 0n;
}
