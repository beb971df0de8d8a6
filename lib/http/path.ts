/** The path of a request, as `new URL` would give it: the address of a `Request` is normalised already. */
export function requestPath({ url }: Request): string {
  const hash = url.indexOf("#");
  const whole = hash === -1 ? url : url.slice(0, hash);
  const query = whole.indexOf("?");
  return whole.slice(whole.indexOf("/", whole.indexOf("//") + 2), query === -1 ? undefined : query);
}
