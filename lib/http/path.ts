/** The path of a request, as `new URL` would give it: the address of a `Request` is normalised already. */
export function requestPath({ url }: Request): string {
  const hash = url.indexOf("#");
  const address = hash === -1 ? url : url.slice(0, hash);
  const query = address.indexOf("?");
  return address.slice(address.indexOf("/", address.indexOf("//") + 2), query === -1 ? undefined : query);
}
