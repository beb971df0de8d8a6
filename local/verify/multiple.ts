/** Checks `multipleOf` of schemas with decimal arithmetic, in which 0.3 is three times 0.1. */

/** Returns the digits of a number, and the power of ten to multiply them by. */
function readDigits(number: number): [digits: bigint, power: number] {
  const [coefficient, power = "0"] = String(number).split("e") as [string, string?];
  const fraction = coefficient.split(".")[1] ?? "";
  return [BigInt(coefficient.replace(".", "")), Number(power) - fraction.length];
}

/** Checks that a finite number is an integer multiple of a factor, which is not 0. */
export function isMultiple(number: number, factor: number): boolean {
  const [[digits, power], [factorDigits, factorPower]] = [readDigits(number), readDigits(factor)];
  const scaled = (value: bigint, power10: number): bigint =>
    value * 10n ** BigInt(power10 - Math.min(power, factorPower));
  return scaled(digits, power) % scaled(factorDigits, factorPower) === 0n;
}
