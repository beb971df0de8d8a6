/** What stands before a decision: sites, hosts, tokens, bodies, fields, preconditions and repeated requests. */

const HTTP = ["test/contract/http.test.ts"];
const idempotency = { file: "lib/changes/idempotency.ts", tests: HTTP, only: "bare handlers idempotency" };
const requestKey = { file: "lib/http/idempotency.ts", tests: HTTP, only: "bare handlers idempotency" };
const kept = { file: "lib/changes/idempotency.ts", tests: ["test/lib/http/idempotency.test.ts"] };
const match = { file: "lib/http/if_match.ts", tests: HTTP, only: "bare handlers preconditions" };
const guards = { file: "lib/http/guards.ts", tests: HTTP, only: "bare handlers (access|endpoints)" };
const hosts = { file: "lib/http/host_guard.ts", tests: ["test/lib/http/host_guard.test.ts"] };
const body = { file: "lib/http/body.ts", tests: ["test/lib/http/body.test.ts", ...HTTP], only: "body|length|bodies" };
const fields = { file: "lib/kit/fields.ts", tests: HTTP, only: "bare handlers (fields|bodies)" };
const form = { file: "lib/http/form.ts", tests: HTTP, only: "bare handlers (fields|bodies)" };
const json = { file: "lib/kit/strict_json.ts", tests: ["test/lib/kit/strict_json.test.ts"] };
const endpoint = { file: "lib/http/endpoint.ts", tests: HTTP };

export const http = [
  {
    file: "local/node_http.ts",
    name: "whoever waits for a long answer is cut off",
    find: "req.complete && !headersSent",
    replace: "req.complete && headersSent",
    tests: ["test/local/node_http.test.ts"],
  },
  {
    file: "local/node_http.ts",
    name: "a connection whose answer took long is never looked at again",
    find: "if (isAwaited) socket.setTimeout(limits.idleTimeout);",
    replace: "if (isAwaited) return;",
    tests: ["test/local/node_http.test.ts"],
  },
  {
    file: "local/node_http.ts",
    name: "a stop cuts off what is queued",
    find: "requests.on(socket).length === 0) socket.destroy();",
    replace: "requests.on(socket).every((one) => one.writableEnded)) socket.destroy();",
    tests: ["test/local/node_http.test.ts"],
  },
  {
    file: "local/node_http.ts",
    name: "a connection that says nothing is kept for ever",
    find: "    else socket.destroy();",
    replace: "",
    tests: ["test/local/node_http.test.ts"],
  },
  {
    file: "lib/http/shared_reads.ts",
    name: "a read is answered by what was looked at before it was asked",
    find: "asked.delete(key);",
    replace: "void key;",
    tests: ["test/lib/http/shared_reads.test.ts"],
  },
  {
    file: "lib/http/endpoint.ts",
    name: "a read is answered with what somebody asked of another record",
    find: "return together(JSON.stringify(given),",
    replace: 'return together("",',
    tests: ["test/lib/http/shared_reads.test.ts"],
  },
  {
    file: "lib/kit/transient_map.ts",
    name: "what has come and gone stays until all of the memory is collected",
    find: "map = new Map(map);",
    replace: "",
    tests: ["test/lib/kit/transient_map.test.ts"],
  },
  {
    file: "lib/kit/gather.ts",
    name: "one anonymous read is answered with all that is there",
    find: "if (rows.length === limit || bytes >= PAGE_BYTES)",
    replace: "if (rows.length === limit)",
    tests: ["test/handlers/page_bytes.test.ts"],
  },
  {
    file: "lib/kit/semaphore.ts",
    name: "any number of wide reads run at a time",
    find: "if (taken < most) taken++;",
    replace: "if (taken < Infinity) taken++;",
    tests: ["test/lib/kit/places.test.ts"],
  },
  {
    ...idempotency,
    name: "a repeated request is done again",
    find: "if (!stored || now - stored.at > RETENTION_MS) continue;",
    replace: "continue;",
  },
  {
    ...idempotency,
    name: "a key used with another body gets the first answer",
    find: "if (stored.body !== key.body)",
    replace: "if (false)",
  },
  {
    ...idempotency,
    name: "a key is free again before its 24 hours are over",
    find: "now - stored.at > RETENTION_MS",
    replace: "now - stored.at > RETENTION_MS / 2",
  },
  {
    ...requestKey,
    name: "a key means one answer on every path",
    find: "[request.method, new URL(request.url).pathname, token,",
    replace: "[request.method, token,",
  },
  {
    ...requestKey,
    name: "one person's key gives another person's answer",
    find: 'token, person ?? "", key,',
    replace: "token, key,",
  },
  {
    ...requestKey,
    tests: ["test/lib/http/idempotency.test.ts"],
    only: undefined,
    name: "a key outlives the token it was sent with",
    find: "pathname, token, person",
    replace: "pathname, person",
  },
  {
    ...kept,
    name: "kept answers are deleted up to a day too early",
    find: "const expired = `${day(now - RETENTION_MS)}:`;",
    replace: "const expired = `${day(now)}:`;",
  },
  {
    ...kept,
    name: "kept answers are never deleted",
    find: ".filter(({ id }) => id < expired)",
    replace: ".filter(() => false)",
  },
  {
    ...kept,
    name: "around midnight another instance does not find the answer",
    find: "[now, now - RETENTION_MS, now + MAX_CLOCK_LEAD_MS]",
    replace: "[now, now - RETENTION_MS]",
  },
  {
    name: "an answer is not kept with the write it answers",
    file: "lib/changes/transaction.ts",
    find: "if (isResult(decided)) replies?.save(tx, decided, now);",
    replace:
      "if (isResult(decided)) setTimeout(() => void deps.store.transact((later) => replies?.save(later, decided, now)), 50);",
    tests: HTTP,
    only: "bare handlers idempotency",
  },
  {
    ...match,
    name: "If-Match is not looked at",
    find: "if (stated === null) return undefined;",
    replace: "return undefined;",
  },
  {
    ...match,
    name: "If-Match holds for any revision that begins alike",
    find: '/^"(?:0|[1-9]\\d*)"$/.test(tag) ? [Number(tag.slice(1, -1))] : []',
    replace: "[Number.parseInt(tag.slice(1, 2))]",
  },
  {
    ...guards,
    name: "a page of another site may write",
    find: 'throw new AppError("cross_site", "a page of another site may not write here");',
    replace: "",
  },
  {
    ...guards,
    name: "a page of a neighbouring subdomain may write",
    find: 'if (site === "same-origin" || site === "none") return;',
    replace: 'if (site !== "cross-site") return;',
  },
  {
    ...guards,
    name: "a page of no origin may write",
    find: 'host !== "" &&\n      (host === requestHost(request)',
    replace: '(host === "" || host === requestHost(request)',
  },
  {
    ...guards,
    name: "a write needs no token",
    find: "if (!deps.adminToken || carriesToken(request, deps)) return;",
    replace: "return;",
  },
  {
    ...guards,
    name: "the beginning of the token is enough",
    find: "return token !== null && isSameText(sha256(token), sha256(adminToken));",
    replace: 'return Boolean(adminToken) && token !== null && token !== "" && adminToken!.startsWith(token);',
  },
  {
    ...guards,
    name: "tokens are compared letter by letter until one differs",
    find: "return token !== null && isSameText(sha256(token), sha256(adminToken));",
    replace: "return Boolean(adminToken) && token === adminToken;",
    tests: ["test/lib/http/guards.test.ts"],
    only: undefined,
  },
  {
    ...guards,
    name: "a host that wants no anonymous writes takes them",
    find: "if (adminToken || allowAnonymousWrites !== false) return;",
    replace: "return;",
    tests: ["test/lib/http/anonymous_writes.test.ts"],
    only: undefined,
  },
  {
    ...hosts,
    name: "any name may be pointed at this machine",
    find: 'if (!names.has(name) && !IPV4.test(name) && !name.startsWith("[")) return false;',
    replace: "",
  },
  {
    ...hosts,
    name: "a name that begins like an address counts as one",
    find: "const IPV4 = /^\\d+\\.\\d+\\.\\d+\\.\\d+$/;",
    replace: "const IPV4 = /^\\d+\\.\\d+\\.\\d+\\.\\d+/;",
  },
  {
    ...hosts,
    name: "what stands before an @ hides another host",
    find: "const HOST = /^[A-Za-z0-9._:[\\]-]+$/;",
    replace: "const HOST = /^[A-Za-z0-9._:[\\]@-]+$/;",
  },
  {
    ...body,
    name: "a body of any size is read when it does not tell its length",
    find: "readCappedText(request, BODY_LIMIT, ",
    replace: "readCappedText(request, 100 * BODY_LIMIT, ",
  },
  {
    ...body,
    name: "a body that claims to be small may be of any size",
    find: "if (text.length * 3 > BODY_LIMIT && new TextEncoder().encode(text).length > BODY_LIMIT) throw tooLarge();",
    replace: "",
  },
  {
    ...body,
    name: "bytes that are no UTF-8 are taken for characters",
    find: 'if (text.includes("\\uFFFD"))',
    replace: "if (false)",
  },
  {
    ...body,
    name: "any content type is read as a form",
    find: 'if (type === "" || type === "text/plain" || type === "application/x-www-form-urlencoded") return "form";',
    replace: 'return "form";',
  },
  {
    ...form,
    name: "the last of a repeated field counts",
    find: 'if (key in fields) throw invalidField(key, "is given more than once");\n    fields[key] = equals',
    replace: "fields[key] = equals",
  },
  {
    ...fields,
    name: "an empty number is 0",
    find: "z.string().regex(JSON_NUMBER).transform(Number)",
    replace: "z.string().transform(Number)",
  },
  {
    ...fields,
    name: "a client may decide in the service's own name",
    find: "(name) => !isReservedName(name),",
    replace: "() => true,",
  },
  {
    ...fields,
    name: "two names may differ by what nobody sees",
    find: '.refine((text) => !INVISIBLE.test(text), "must not contain control or invisible characters")',
    replace: "",
  },
  {
    ...fields,
    name: "a name is kept as it was written, spaces and all",
    find: "    .normalize(form)\n    .trim()\n",
    replace: "",
    only: "bare handlers (fields|consent)",
  },
  {
    name: "a misspelt field of an apply is passed over",
    file: "handlers/product/apply.ts",
    find: "z.strictObject(",
    replace: "z.object(",
    tests: HTTP,
    only: "bare handlers errors",
  },
  { ...json, name: "the last of a repeated JSON member counts", find: "if (names!.has(name))", replace: "if (false)" },
  {
    ...json,
    name: "JSON may be nested without end",
    find: "if (depth === DEEPEST)",
    replace: "if (false)",
  },
  {
    ...json,
    name: "half a character is taken from JSON",
    find: "if (!value.isWellFormed())",
    replace: "if (false)",
  },
  {
    ...endpoint,
    name: "a query beside an empty body is passed over",
    find: "if (isPost && !declaration.inAddress) refuseQuery(request, declaration.ignoredQuery);",
    replace: "",
    only: "bare handlers (fields|bodies|errors)",
  },
  {
    ...endpoint,
    name: "no endpoint asks for the token",
    file: "lib/http/admission.ts",
    find: "if (terms.token === true || (terms.token && deps.protectAll)) requireToken(request, deps);",
    replace: "if (false) requireToken(request, deps);",
    only: "bare handlers access",
  },
  {
    ...endpoint,
    name: "a service without an intent answers as if it had one",
    find: "if (declaration.product && !deps.product) throw runtimeDisabled();",
    replace: "",
    only: "bare handlers errors",
  },
  {
    name: "an unexpected error tells the client what went wrong inside",
    file: "lib/http/error_response.ts",
    find: 'return new AppError("internal", "internal error; the service\'s log has it under this request_id");',
    replace: 'return new AppError("internal", String(error));',
    tests: ["test/lib/kit/errors.test.ts"],
  },
  {
    name: "a store that cannot write is told as a busy one",
    file: "lib/http/error_response.ts",
    find: "if (error instanceof StoreUnavailable)",
    replace: "if (false)",
    tests: ["test/lib/kit/errors.test.ts"],
  },
];
