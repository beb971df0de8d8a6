/** `requestPath` returns the same path as `URL`. */
import { expect, test } from "vitest";
import { requestPath } from "../../../lib/http/path.ts";

test.each([
  "http://localhost",
  "http://localhost/",
  "http://localhost?a=/b",
  "http://localhost#/b",
  "http://[::1]:8420/a/b/?c=d/e#f",
  "https://a.example/a#b?c",
  "http://a.example/a%2Fb/../c//d?e",
  "http://a.example//a.example/b",
])("the path of %s is that of its URL", (url) => {
  expect(requestPath(new Request(url))).toBe(new URL(url).pathname);
});
