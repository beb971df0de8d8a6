/** ASN.1 DER as keys and signatures use it, in the one way that each is written. */

/** Takes an element of this tag from the front: its content, and the rest. Errors: `RangeError` for any other writing. */
export function element(bytes: Buffer, tag: number): [content: Buffer, rest: Buffer] {
  const first = bytes[1] ?? -1;
  const digits = first < 128 ? 0 : first - 128;
  const begin = 2 + digits;
  if (bytes[0] !== tag || first < 0 || digits > 4 || begin > bytes.length) throw new RangeError("not this element");
  const length = digits === 0 ? first : bytes.readUIntBE(2, digits);
  const shortest = length < 128 ? 0 : Math.ceil(length.toString(16).length / 2);
  if (digits !== shortest || begin + length > bytes.length) throw new RangeError("not of this length");
  return [bytes.subarray(begin, begin + length), bytes.subarray(begin + length)];
}

/** The two numbers of a sequence, above zero and as short as they can be written. Errors: `RangeError`. */
export function twoNumbers(bytes: Buffer): [Buffer, Buffer] {
  const [body, behind] = element(bytes, 0x30);
  const [first, rest] = element(body, 2);
  const [second, more] = element(rest, 2);
  if (behind.length > 0 || more.length > 0) throw new RangeError("more than two numbers");
  return [plainNumber(first), plainNumber(second)];
}

/** The digits of a signed number above zero. Errors: `RangeError` where it is written in any other way. */
export function plainNumber(number: Buffer): Buffer {
  const [first = 128, second = 0] = number;
  if (first > 127 || (first === 0 && second < 128)) throw new RangeError("not a number above zero");
  return first === 0 ? number.subarray(1) : number;
}
