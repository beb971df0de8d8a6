/** The path of a request, as `new URL` would give it: the address of a `Request` is normalised already. */
export const pathOf = ({ url }: Request): string => /\/\/[^/]*([^?#]*)/.exec(url)![1]!;
