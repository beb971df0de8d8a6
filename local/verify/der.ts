/** Reads ASN.1 DER of keys and signatures; any other encoding of the same content is rejected. */

/** Returns the content of the first element, which must have this tag, and the bytes after it. Errors: `RangeError`. */
export function readElement(bytes: Buffer, tag: number): [content: Buffer, rest: Buffer] {
  const lengthByte = bytes[1] ?? 0;
  // The byte after the tag is the length if it is at most 127. A higher one counts the bytes of the length, as few as possible.
  const lengthBytes = Math.max(lengthByte - 128, 0);
  const begin = 2 + lengthBytes;
  if (bytes[0] !== tag) throw new RangeError("not this element");
  // A length that is cut or has more than six bytes is a `RangeError` of Node.
  const length = lengthBytes === 0 ? lengthByte : bytes.readUIntBE(2, lengthBytes);
  const neededBytes = length < 128 ? 0 : Math.ceil(length.toString(16).length / 2);
  if (lengthBytes !== neededBytes || begin + length > bytes.length) throw new RangeError("not of this length");
  return [bytes.subarray(begin, begin + length), bytes.subarray(begin + length)];
}

/** Reads a SEQUENCE of two positive INTEGERs as big-endian bytes. Errors: `RangeError`. */
export function readTwoIntegers(bytes: Buffer): [Buffer, Buffer] {
  const [body, behind] = readElement(bytes, 0x30);
  const [first, rest] = readElement(body, 2);
  const [second, more] = readElement(rest, 2);
  if (behind.length > 0 || more.length > 0) throw new RangeError("more than two numbers");
  return [readPositiveInteger(first), readPositiveInteger(second)];
}

/** Returns the bytes of a positive INTEGER without the zero byte of its sign. Errors: `RangeError` for any other number or padding. */
export function readPositiveInteger(number: Buffer): Buffer {
  // The default makes an INTEGER without bytes invalid, as a negative one is.
  const [first = 128, second = 0] = number;
  if (first > 127 || (first === 0 && second < 128)) throw new RangeError("not a number above zero");
  return first === 0 ? number.subarray(1) : number;
}
