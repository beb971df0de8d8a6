/** The deployment template: routes, table, rights, settings and alarms. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse, type ScalarTag, YAMLMap, YAMLSeq } from "yaml";
// @ts-expect-error a build script without types
import { buildConsoleFiles } from "../esbuild.config.mjs";
import { endpoints } from "../handlers/index.ts";
import type { Declaration } from "../lib/http/endpoint.ts";
import { functionGroup, GROUPS } from "../lib/hosts/lambda/groups.ts";
import { functionCapabilities } from "../lib/hosts/capabilities.ts";
import { addIntent } from "../lib/hosts/lambda/intent_address.ts";
import { parseSettings } from "../lib/hosts/settings.ts";
import { testClock } from "./support/clock.ts";
import { TABLE } from "../lib/store/dynamodb/store.ts";

// oxlint-disable-next-line no-explicit-any -- a document of any shape
type Any = any;

/** Tags that convert CloudFormation's short forms to long ones: `!Ref Table` is `{ Ref: "Table" }`. */
const INTRINSICS = ["Ref", "Sub", "GetAtt", "If", "Not", "Or", "Equals", "Condition"];
const toLongForm = (name: string) => (name === "Ref" || name === "Condition" ? name : `Fn::${name}`);
const customTags = INTRINSICS.flatMap((name) => {
  const scalar: ScalarTag = { tag: `!${name}`, resolve: (value) => ({ [toLongForm(name)]: value }) };
  const sequence = {
    tag: `!${name}`,
    collection: "seq" as const,
    resolve: (value: YAMLMap | YAMLSeq) => {
      const long = new YAMLMap();
      long.set(toLongForm(name), value);
      return long;
    },
  };
  return [scalar, sequence];
});

const text = readFileSync(new URL("../template.yaml", import.meta.url), "utf8");
const template: Any = parse(text, { customTags, strict: true });
const { Resources: resources, Globals: globals, Parameters: parameters, Conditions: conditions } = template;
const functions = Object.entries<Any>(resources).filter(([, { Type }]) => Type === "AWS::Serverless::Function");
const functionProperties = (name: string): Any =>
  resources[`${name[0]!.toUpperCase()}${name.slice(1)}Function`].Properties;
const WRITERS = ["product", "agent", "cycle"];

/** A route of the API and the function behind it. */
interface Route {
  method: string;
  path: string;
  group: string;
}

const parseGroup = (codeUri: string): string => codeUri.replace("dist/lambda/functions/", "");
const routes: Route[] = functions.flatMap(([, { Properties }]) =>
  Object.values<Any>(Properties.Events)
    .filter(({ Type }) => Type === "HttpApi")
    .map(({ Properties: { Method, Path } }) => ({ method: Method, path: Path, group: parseGroup(Properties.CodeUri) })),
);

/** Finds the route that API Gateway would choose: that of the method, or else of any method. */
function findRoute({ method, path, rest }: Declaration): Route | undefined {
  const pathOfGateway = path.replace(/:([a-z_]+)/g, rest ? "{$1+}" : "{$1}");
  const candidates = routes.filter((route) => route.path === pathOfGateway);
  return candidates.find((route) => route.method === method) ?? candidates.find((route) => route.method === "ANY");
}

/** Resolves a value as CloudFormation does; parameters that are not `given` have their defaults. */
function resolveValue(value: Any, given: Record<string, string>): Any {
  // A name that has no value here, such as AWS::NoValue, stands for itself with "-x" appended.
  const readParameter = (name: string): Any => given[name] ?? parameters[name]?.Default ?? `${name}-x`;
  const isTrue = (condition: Any): boolean => {
    const { "Fn::Not": not, "Fn::Or": or, "Fn::Equals": equals, Condition: conditionName } = condition;
    if (conditionName) return isTrue(conditions[conditionName]);
    if (not) return !isTrue(not[0]);
    if (or) return or.some(isTrue);
    return resolveValue(equals[0], given) === resolveValue(equals[1], given);
  };
  if (Array.isArray(value))
    return value
      .map((item) => resolveValue(item, given))
      .filter((item) => item !== resolveValue({ Ref: "AWS::NoValue" }, given));
  if (value === null || typeof value !== "object") return value;
  const { Ref, "Fn::Sub": sub, "Fn::If": ifBranches } = value;
  if (Ref) return readParameter(Ref);
  if (sub) return sub.replace(/\$\{([\w:]+)\}/g, (_: string, name: string) => readParameter(name));
  if (ifBranches) return resolveValue(isTrue({ Condition: ifBranches[0] }) ? ifBranches[1] : ifBranches[2], given);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, resolveValue(member, given)]));
}

/** Lists the statements in a function's own policies. */
const listStatements = (name: string): Any[] =>
  ((functionProperties(name).Policies ?? []) as Any[]).flatMap(({ Statement }) => Statement ?? []);

/** Lists the actions that a function may perform on a resource. */
const listAllowedActions = (name: string, resource: unknown): string[] =>
  listStatements(name)
    .filter(({ Resource }) => JSON.stringify(Resource) === JSON.stringify(resource))
    .flatMap(({ Action }) => Action)
    .sort();
const listTableActions = (name: string): string[] => listAllowedActions(name, { "Fn::GetAtt": "Table.Arn" });

describe("routes", () => {
  test.each(endpoints.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const))(
    "%s reaches the function of its group",
    (_, endpoint) => expect(findRoute(endpoint)?.group).toBe(functionGroup(endpoint)),
  );

  test("all other routes are files of the console, and no route exists twice", async () => {
    const needed = endpoints.map((endpoint) => findRoute(endpoint));
    const names: string[] = Object.keys(await buildConsoleFiles({ splitting: false }));
    const files = names.map((name) => ({
      method: "GET",
      path: `/${name === "index.html" ? "" : name}`,
      group: "console",
    }));
    const byPath = (a: Route, b: Route) => (a.path < b.path ? -1 : 1);
    expect(routes.filter((route) => !needed.includes(route)).sort(byPath)).toEqual(files.sort(byPath));
    expect(new Set(routes.map(({ method, path }) => `${method} ${path}`)).size).toBe(routes.length);
  });

  test("all routes are of one API, which is throttled and logs no tokens or queries", () => {
    for (const [, { Properties }] of functions)
      for (const { Type, Properties: event } of Object.values<Any>(Properties.Events))
        if (Type === "HttpApi") expect(event.ApiId).toEqual({ Ref: "Api" });
    const { DefaultRouteSettings, AccessLogSettings } = resources.Api.Properties;
    expect(DefaultRouteSettings).toEqual({
      ThrottlingRateLimit: { Ref: "ThrottlingRate" },
      ThrottlingBurstLimit: { Ref: "ThrottlingBurst" },
    });
    expect(AccessLogSettings.Format).not.toMatch(/header|querystring|\$context\.path|authorizer/i);
    expect(() => JSON.parse(AccessLogSettings.Format)).not.toThrow();
  });
});

test("the resource policy of each function, with all its routes, is below AWS's limit", () => {
  const MAX_POLICY_BYTES = 20_480;
  for (const [name, { Properties }] of functions) {
    const statements = Object.entries<Any>(Properties.Events).map(([event, route]) => ({
      Sid: `${"s".repeat(32)}-${name}${event}Permission-ABCDEFGHIJKL`,
      Effect: "Allow",
      Principal: { Service: "apigateway.amazonaws.com" },
      Action: "lambda:InvokeFunction",
      Resource: `arn:aws:lambda:ap-southeast-1:123456789012:function:${"s".repeat(32)}-${name}-ABCDEFGHIJKL`,
      Condition: {
        ArnLike: {
          "AWS:SourceArn": `arn:aws:execute-api:ap-southeast-1:123456789012:a1b2c3d4e5/*/*${route.Properties.Path ?? ""}`,
        },
      },
    }));
    expect(JSON.stringify(statements).length, name).toBeLessThan(MAX_POLICY_BYTES);
  }
});

describe("functions", () => {
  test("there is one function for each group, the cycle and the console", () => {
    const names = functions.map(([, { Properties }]) => parseGroup(Properties.CodeUri)).sort();
    expect(names).toEqual([...GROUPS, "cycle", "console"].sort());
    for (const name of names) expect(functionProperties(name).CodeUri).toBe(`dist/lambda/functions/${name}`);
  });

  test("functions run the built files on Node 22 and arm64", () => {
    expect(globals.Function).toMatchObject({
      Runtime: "nodejs22.x",
      Architectures: ["arm64"],
      Handler: "index.handler",
    });
    for (const [, { Metadata, Properties }] of functions) {
      expect(Metadata).toEqual({ SkipBuild: true });
      for (const name of ["Runtime", "Handler", "Architectures"]) expect(Properties).not.toHaveProperty(name);
    }
  });

  test("functions that apply changes on request time out before the lease of an apply ends", () => {
    for (const name of ["product", "agent"]) expect(functionProperties(name).Timeout).toBeLessThan(60);
  });

  test("each function has a log with limited retention", () => {
    for (const [, { Properties }] of functions) {
      const { LogGroup } = Properties.LoggingConfig;
      expect(resources[LogGroup.Ref]).toMatchObject({
        Type: "AWS::Logs::LogGroup",
        Properties: { RetentionInDays: { Ref: "LogRetentionDays" } },
      });
    }
  });

  test("parameters limit the concurrency of readers and writers; only that of product by default", () => {
    const getReservation = (name: string) => functionProperties(name).ReservedConcurrentExecutions?.["Fn::If"];
    for (const [name, kind] of [
      ["read", "Read"],
      ["product", "Write"],
      ["agent", "Agent"],
    ] as const) {
      expect(getReservation(name)).toEqual([
        `${kind}IsReserved`,
        { Ref: `${kind}Concurrency` },
        { Ref: "AWS::NoValue" },
      ]);
      // With 0, no concurrency is reserved.
      expect(parameters[`${kind}Concurrency`].Default).toBe(name === "product" ? 4 : 0);
    }
  });

  test("the cycle runs only on a schedule, and is not retried", () => {
    const { Events, EventInvokeConfig } = functionProperties("cycle");
    expect(Object.values<Any>(Events)).toEqual([
      {
        Type: "ScheduleV2",
        Properties: {
          ScheduleExpression: "rate(1 minute)",
          OmitName: true,
          RetryPolicy: { MaximumRetryAttempts: 0 },
        },
      },
    ]);
    expect(EventInvokeConfig.MaximumRetryAttempts).toBe(0);
  });
});

test("endpoints that check the admin token are in functions that may read it", () => {
  const tokenEndpoints = endpoints.filter(({ token }) => token);
  expect(tokenEndpoints.length).toBeGreaterThan(5);
  for (const endpoint of tokenEndpoints) expect(WRITERS, endpoint.path).toContain(functionGroup(endpoint));
});

describe("rights", () => {
  /** Lists the shared policies of a function, in a stack with these parameters. */
  const listSharedPolicies = (name: string, stackParameters: Record<string, string>): Any[] => {
    const shared: Any[] = functionProperties(name).Policies.filter((policy: Any) => !policy.Statement);
    return shared.flatMap(({ "Fn::If": [condition, policy] }) =>
      resolveValue({ "Fn::If": [condition, true, false] }, stackParameters) ? [policy] : [],
    );
  };
  const READ = ["dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"];
  const WRITE = ["BatchGetItem", "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"];

  test("functions that read cannot write, except health; docs and console have no rights", () => {
    expect(listTableActions("read")).toEqual(READ);
    // Readiness proves a write.
    expect(listTableActions("health")).toEqual(WRITE.map((action) => `dynamodb:${action}`));
    for (const name of ["docs", "console"]) expect(listStatements(name)).toEqual([]);
  });

  test.each(WRITERS)("%s has only the rights that the store needs", (name) => {
    expect(listTableActions(name)).toEqual(WRITE.map((action) => `dynamodb:${action}`));
  });

  test("no function has rights on other resources, or by pattern", () => {
    for (const [, { Properties }] of functions) {
      expect(Properties.Role).toBeUndefined();
      for (const { Effect, Action, Resource } of listStatements(parseGroup(Properties.CodeUri))) {
        expect(Effect).toBe("Allow");
        expect([{ "Fn::GetAtt": "Table.Arn" }, { Ref: "Secrets" }]).toContainEqual(Resource);
        expect(JSON.stringify(Action)).not.toContain("*");
      }
    }
  });

  test("functions that need the intent may read it at its address", () => {
    for (const name of [...GROUPS, "cycle", "console"]) {
      expect(listSharedPolicies(name, { ProductIntentObject: "acme/intent.json" })).toEqual(
        ["docs", "console"].includes(name) ? [] : [{ Ref: "IntentRights" }],
      );
      expect(listSharedPolicies(name, {})).toEqual([]);
    }
    expect(resources.IntentRights.Condition).toBe("IntentIsFetched");
    const rights = (stackParameters: Record<string, string>) =>
      resolveValue(resources.IntentRights.Properties.PolicyDocument.Statement, stackParameters);
    const account = { "AWS::Partition": "aws", "AWS::Region": "eu-central-1", "AWS::AccountId": "123456789012" };
    expect(rights({ ...account, ProductIntentParameter: "/acme/intent" })).toEqual([
      {
        Effect: "Allow",
        Action: "ssm:GetParameter",
        Resource: "arn:aws:ssm:eu-central-1:123456789012:parameter/acme/intent",
      },
    ]);
    expect(rights({ ...account, ProductIntentObject: "acme/intent.json" })).toEqual([
      { Effect: "Allow", Action: "s3:GetObject", Resource: "arn:aws:s3:::acme/intent.json" },
    ]);
    expect(rights(account)).toEqual([]);
  });

  test("secrets are read only by functions that check tokens, and are in no variable", () => {
    for (const name of [...GROUPS, "cycle", "console"]) {
      const needsSecrets = WRITERS.includes(name) || name === "read";
      expect(listAllowedActions(name, { Ref: "Secrets" })).toEqual(
        needsSecrets ? ["secretsmanager:GetSecretValue"] : [],
      );
      expect(functionProperties(name).Environment?.Variables).toEqual(
        needsSecrets ? { SVC_SECRETS_ARN: { Ref: "Secrets" } } : undefined,
      );
    }
    expect(Object.keys(globals.Function.Environment.Variables).join()).not.toMatch(/TOKEN|SECRET|KEY/);
    expect(text).not.toContain("resolve:");
  });
});

describe("settings", () => {
  const variables: Record<string, Any> = globals.Function.Environment.Variables;
  const defaults = resolveValue(variables, {});

  test("settings have names that the host reads", async () => {
    const readNames = new Set<string>();
    const environment = new Proxy({} as Record<string, string>, {
      get(_, name) {
        readNames.add(String(name));
        // With a provider set, its further settings are read too.
        return name === "SVC_LLM" ? "openai" : undefined;
      },
    });
    await addIntent(environment);
    parseSettings(environment, { clock: testClock() });
    functionCapabilities(environment);
    const known = [...readNames, "SVC_DYNAMODB_TABLE"];
    expect(Object.keys(variables).filter((name) => !known.includes(name))).toEqual([]);
  });

  test("settings with the longest intent fit into the 4 KB of a function's variables", () => {
    const example = JSON.parse(readFileSync(new URL("../local/example/product_intent.json", import.meta.url), "utf8"));
    const line = JSON.stringify(example);
    const intent = line.repeat(10).slice(0, parameters.ProductIntent.MaxLength);
    const given: Record<string, string> = {
      ProductIntent: intent,
      Table: `${"s".repeat(32)}-Table-ABCDEFGHIJKLM`,
      "AWS::StackName": "s".repeat(32),
      ProductAdapter: "https://host.example/countersign",
    };
    const arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:Secrets-ABCDEFGHIJKL-AbCdEf";
    const environment = JSON.stringify({ ...resolveValue(variables, given), SVC_SECRETS_ARN: arn });
    expect(Buffer.byteLength(environment)).toBeLessThan(4096);
  });

  test.each([
    [{ ProductIntent: "{}" }, { SVC_PRODUCT_INTENT_JSON: "{}", SVC_PRODUCT_INTENT: "" }],
    [
      { ProductIntentParameter: "/acme/intent" },
      { SVC_PRODUCT_INTENT_JSON: "", SVC_PRODUCT_INTENT: "ssm:/acme/intent" },
    ],
    [{ ProductIntentObject: "acme/intent" }, { SVC_PRODUCT_INTENT_JSON: "", SVC_PRODUCT_INTENT: "s3://acme/intent" }],
  ])("settings contain the address of the intent: %j", (given, set) => {
    for (const [name, value] of Object.entries(given)) {
      const { AllowedPattern: pattern = "", MaxLength: maxLength } = parameters[name];
      expect(value).toMatch(new RegExp(pattern));
      expect(value.length).toBeLessThan(maxLength);
    }
    expect(resolveValue(variables, given)).toMatchObject(set);
  });

  test("by default reads, writes, chat and tasks need a token", () => {
    const { adapter, ...settings } = parseSettings(defaults, { clock: testClock() });
    expect(settings).toMatchObject({
      allowAnonymousWrites: false,
      protectAll: true,
      protectReads: true,
      identityHeader: undefined,
    });
    // By default there is no adapter.
    expect((adapter as (identity: object) => unknown)({})).toBeUndefined();
  });

  test("each !Ref names a parameter or a resource that exists", () => {
    const declared = [...Object.keys(parameters), ...Object.keys(resources)];
    const referred = [...text.matchAll(/!Ref ([A-Za-z]+)\b(?!::)/g)].map(([, name]) => name!);
    expect(referred.filter((name) => !declared.includes(name))).toEqual([]);
  });
});

describe("a customer's own key", () => {
  const KeyArn = "arn:aws:kms:eu-central-1:123456789012:key/0b1e";
  const encrypted = (given: Record<string, string>): Any[] => {
    const { Table, Secrets } = resolveValue({ Table: resources.Table, Secrets: resources.Secrets }, given);
    const logs = Object.values<Any>(resources).filter(({ Type }) => Type === "AWS::Logs::LogGroup");
    return [
      Table.Properties.SSESpecification,
      Secrets.Properties.KmsKeyId,
      resolveValue(globals.Function.KmsKeyArn, given),
      ...logs.map(({ Properties }) => resolveValue(Properties.KmsKeyId, given)),
    ];
  };

  test("the key encrypts table, secret, variables and logs, and every function may use it", () => {
    const [table, ...others] = encrypted({ KeyArn });
    expect(table).toEqual({ SSEEnabled: true, SSEType: "KMS", KMSMasterKeyId: KeyArn });
    expect(others.length).toBeGreaterThan(8);
    expect(new Set(others)).toEqual(new Set([KeyArn]));
    for (const [, { Properties }] of functions)
      expect(Properties.Policies).toContainEqual({
        "Fn::If": ["KeyIsGiven", { Ref: "KeyRights" }, { Ref: "AWS::NoValue" }],
      });
    expect(resources.KeyRights.Properties.PolicyDocument.Statement).toEqual([
      { Effect: "Allow", Action: "kms:Decrypt", Resource: { Ref: "KeyArn" } },
    ]);
  });

  test("without a key of the customer, keys of AWS are used", () => {
    expect(new Set(encrypted({}))).toEqual(new Set([resolveValue({ Ref: "AWS::NoValue" }, {})]));
    expect(resources.KeyRights.Condition).toBe("KeyIsGiven");
  });
});

describe("alarms", () => {
  const alarms = Object.entries<Any>(resources).filter(([, { Type }]) => Type === "AWS::CloudWatch::Alarm");
  const metricsOf = (name: string): string[] =>
    (resources[name].Properties.Metrics as Any[]).flatMap(({ MetricStat }) => {
      if (!MetricStat) return [];
      const { Namespace, MetricName, Dimensions } = MetricStat.Metric;
      return `${Namespace} ${MetricName} ${Dimensions.map(({ Value }: Any) => Value.Ref).join()}`;
    });

  test("each alarm watches its metrics", () => {
    expect(Object.fromEntries(alarms.map(([name]) => [name, metricsOf(name)]))).toEqual({
      WritersFail: ["AWS/Lambda Errors ProductFunction", "AWS/Lambda Errors AgentFunction"],
      FunctionsAreThrottled: ["Read", "Product", "Agent", "Cycle"].map((one) => `AWS/Lambda Throttles ${one}Function`),
      ScheduleIsSilent: ["AWS/Lambda Invocations CycleFunction", "AWS/Lambda Errors CycleFunction"],
      ApiFails: ["AWS/ApiGateway 5xx Api"],
      TableIsThrottled: ["AWS/DynamoDB ReadThrottleEvents Table", "AWS/DynamoDB WriteThrottleEvents Table"],
    });
  });

  test.each(alarms)(
    "%s evaluates one expression of its metrics, and reports its beginning and end",
    (name, { Properties }) => {
      const [figure, ...metrics] = Properties.Metrics as Any[];
      expect(figure.Id).toBe("judged");
      expect(metrics.every(({ ReturnData }) => ReturnData === false)).toBe(true);
      const used =
        figure.Expression === "SUM(METRICS())" ? metrics : metrics.filter(({ Id }) => figure.Expression.includes(Id));
      expect(used).toEqual(metrics);
      for (const actions of ["AlarmActions", "OKActions"]) {
        expect(resolveValue(Properties[actions], { AlarmTopic: "arn:aws:sns:x" })).toEqual(["arn:aws:sns:x"]);
        expect(resolveValue(Properties[actions], {})).toEqual([]);
      }
      // Without events there is no alarm, except for the schedule, which always runs.
      expect(Properties.TreatMissingData).toBe(name === "ScheduleIsSilent" ? "breaching" : "notBreaching");
    },
  );
});

/** Properties by which AWS knows a resource: two stacks of one account cannot both have the same. */
const NAMES = /^(?:FunctionName|TableName|RoleName|LogGroupName|ScheduleName|Name|StageName)$/;

test("no resource has a fixed name, so that an account can have several stacks", () => {
  const listFixedNames = (value: Any): string[] =>
    value === null || typeof value !== "object"
      ? []
      : Object.entries<Any>(value).flatMap(([key, inside]) =>
          // The `Name` of a metric's dimension names no resource.
          key === "Dimensions" ? [] : [...(NAMES.test(key) ? [key] : []), ...listFixedNames(inside)],
        );
  expect(listFixedNames(resources)).toEqual([]);
  // SAM names a schedule after its function and event unless it is configured not to.
  const schedules = functions.flatMap(([, { Properties }]) =>
    Object.values<Any>(Properties.Events).filter(({ Type }) => Type === "ScheduleV2"),
  );
  expect(schedules.map(({ Properties }) => Properties.OmitName)).toEqual([true]);
});

test("the table has the schema of the store, outlives the stack, and can be restored", () => {
  const { Properties, DeletionPolicy, UpdateReplacePolicy } = resources.Table;
  const { AttributeDefinitions, KeySchema, BillingMode } = Properties;
  expect({ AttributeDefinitions, KeySchema, BillingMode }).toEqual(TABLE);
  expect([DeletionPolicy, UpdateReplacePolicy]).toEqual(["Retain", "Retain"]);
  expect(resolveValue(Properties.PointInTimeRecoverySpecification, {})).toEqual({
    PointInTimeRecoveryEnabled: true,
    RecoveryPeriodInDays: 35,
  });
  expect(resolveValue(Properties.DeletionProtectionEnabled, {})).toBe("true");
});
