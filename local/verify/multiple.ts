/** Whole multiples by the decimal text of numbers: 0.3 is three times 0.1. */

/** Returns the digits of a number, and the power of ten that they are multiplied by. */
function readDigits(number: number): [bigint, number] {
  const [coefficient, power = "0"] = String(number).split("e") as [string, string?];
  const fraction = coefficient.split(".")[1] ?? "";
  return [BigInt(coefficient.replace(".", "")), Number(power) - fraction.length];
}

/** Returns true where a finite number is a whole multiple of a factor, which is not 0. */
export function isWholeMultiple(number: number, factor: number): boolean {
  const [[digits, power], [factorDigits, factorPower]] = [readDigits(number), readDigits(factor)];
  const scaled = (some: bigint, by: number): bigint => some * 10n ** BigInt(by - Math.min(power, factorPower));
  return scaled(digits, power) % scaled(factorDigits, factorPower) === 0n;
}
