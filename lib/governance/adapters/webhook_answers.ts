/** What a host product may answer to each operation of the webhook adapter. */
import * as z from "zod";
import { once } from "../../kit/once.ts";

/** The answers by operation; further members are left out. */
const answers = once(() => ({
  validate: z.discriminatedUnion("ok", [
    z.object({ ok: z.literal(true), preview: z.unknown().optional() }),
    z.object({ ok: z.literal(false), reason: z.string().min(1).max(1000) }),
  ]),
  apply: result().extend({ previous: z.object({ value: z.unknown() }).nullable().optional() }),
  rollback: result(),
  verify: z.object({ state: z.enum(["applied", "rolled_back", "absent", "unknown"]) }),
}));
const result = () => z.object({ result: z.string().min(1).max(100), detail: z.unknown().optional() });

type Answers = ReturnType<typeof answers>;

/** The four operations of the port. */
export type Operation = keyof Answers;

/** What an operation answers. */
export type AnswerOf<O extends Operation> = z.infer<Answers[O]>;

/** Reads an answer; throws an error that says what is wrong with it. */
export function parseAnswer<O extends Operation>(operation: O, text: string): AnswerOf<O> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error(`the host product's answer to ${operation} is not JSON`);
  }
  const parsed = answers()[operation].safeParse(json);
  if (parsed.success) return parsed.data as AnswerOf<O>;
  const flaws = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "it"}: ${message}`).join("; ");
  throw new Error(`the host product's answer to ${operation} is not as agreed: ${flaws}`);
}
