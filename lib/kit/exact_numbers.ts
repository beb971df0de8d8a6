/** Finds numbers of a JSON text that a double cannot represent, which `JSON.parse` rounds silently. */

const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],]|-?\d[\d.eE+-]*/g;
/** Any number of up to 15 characters without an exponent is exact. */
const MAY_BE_INEXACT = /\d[\d.]{15}|\d[eE][+-]?\d/;

/**
 * Returns the path (`value.id`, `value.0`) of the first number of a valid JSON text that changes when it is parsed and printed
 * again. Only paths that `isIncluded` accepts are considered.
 */
export function findInexactNumber(text: string, isIncluded = (_path: string): boolean => true): string | undefined {
  if (!MAY_BE_INEXACT.test(text)) return undefined;
  // The objects and lists around the token: `key` is the current member's name, or the current item's index.
  const containers: { key: string | number | undefined }[] = [];
  for (const [token] of text.matchAll(TOKEN)) {
    const container = containers.at(-1);
    if (token === "{" || token === "[") containers.push({ key: token === "{" ? undefined : 0 });
    else if (token === "}" || token === "]") containers.pop();
    else if (token === ",") container!.key = typeof container!.key === "number" ? container!.key + 1 : undefined;
    else if (token.startsWith('"')) {
      if (container && container.key === undefined) container.key = JSON.parse(token) as string;
    } else if (!isExact(token)) {
      const path = containers.map(({ key }) => key).join(".");
      if (isIncluded(path)) return path;
    }
  }
  return undefined;
}

const isExact = (number: string): boolean => normalizeNumber(number) === normalizeNumber(String(Number(number)));

/** Returns significant digits and exponent of a number: equal for equal numbers. The sign is ignored, since it is never rounded. */
function normalizeNumber(number: string): string {
  // `Infinity`, to which too large a number is parsed, has no digits here, and so differs from the number.
  const [, whole = "", fraction = "", exponent = "0"] = NUMBER.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  return significant && `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
