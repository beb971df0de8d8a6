/** Returns the path of a request without parsing its address, which `Request` has normalized already. */
export function requestPath({ url }: Request): string {
  const hash = url.indexOf("#");
  const address = hash === -1 ? url : url.slice(0, hash);
  const query = address.indexOf("?");
  return address.slice(address.indexOf("/", address.indexOf("//") + 2), query === -1 ? undefined : query);
}
