/**
 * Returns a certificate in which `change` replaces, removes (`null`) or repeats (a list) each part. A part is its name and the
 * length of its body in bytes, a line break, and the body.
 */
export function rebuildCertificate(
  text: string,
  change: (part: string, name: string, index: number) => string | null | string[],
): string {
  let rest = Buffer.from(text).subarray("countersign-certificate/v1\n".length);
  const parts: string[] = [];
  for (let index = 0; rest.length > 0; index++) {
    const [header, name, length] = /^(\w+) (\d+)\n/.exec(rest.toString("latin1"))!;
    const end = header.length + Number(length);
    const changed = change(rest.toString("utf8", header.length, end), name!, index);
    for (const body of [changed ?? []].flat()) parts.push(`${name} ${Buffer.byteLength(body)}\n${body}`);
    rest = rest.subarray(end);
  }
  return `countersign-certificate/v1\n${parts.join("")}`;
}
