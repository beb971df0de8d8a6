/** Edits the parts of a certificate. */

/** Returns a certificate in which `change` replaces, removes (`null`) or repeats (a list) each part. */
export function rebuildCertificate(
  text: string,
  change: (part: string, name: string, index: number) => string | null | string[],
): string {
  let rest = Buffer.from(text).subarray("countersign-certificate/v1\n".length);
  const parts: string[] = [];
  for (let index = 0; rest.length > 0; index++) {
    const [head, name, length] = /^(\w+) (\d+)\n/.exec(rest.toString("latin1"))!;
    const end = head.length + Number(length);
    const changed = change(rest.toString("utf8", head.length, end), name!, index);
    for (const one of [changed ?? []].flat()) parts.push(`${name} ${Buffer.byteLength(one)}\n${one}`);
    rest = rest.subarray(end);
  }
  return `countersign-certificate/v1\n${parts.join("")}`;
}
