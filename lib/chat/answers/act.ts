/** What is asked to be done is not done here: a person does it on the change's page, or by a command. */
import { type Answer, type Asking, cite, find, lines } from "./asking.ts";
import { namesOne } from "./one_change.ts";

const VERBS = {
  approve: /^(?:approve|accept|consent to|sign off|greenlight|okay|批准|同意|通过|核准)/,
  deny: /^(?:deny|reject|refuse|decline|veto|turn down|拒绝|否决|驳回)/,
  apply: /^(?:apply|deploy|ship|release|roll out|execute|enact|activate|应用|部署|上线|发布|实施|执行)/,
  rollback: /^(?:roll ?back|roll (?=\S+.* back\b)|revert|undo|take back|回滚|还原|撤销应用|退回|回退)/,
  withdraw: /^(?:withdraw|cancel|retract|撤回|取消)/,
  revoke: /^(?:revoke|撤销|收回)/,
  freeze: /^(?:freeze|冻结)/,
  unfreeze: /^(?:unfreeze|thaw|lift the freeze|解冻)/,
  kpi: /^(?:feed|set (?:the )?kpi|更新指标|录入|喂入|上报)/,
  propose: /^(?:propose|create a change|draft|提出|提议|新建变更|起草)/,
} as const;
type Verb = keyof typeof VERBS;

const POLITE =
  /^(?:(?:please|kindly|hey|ok|okay|now|just|go ahead and|can you|could you|would you|will you|can u|i want you to|i want to|i would like to|i'd like to|i'd like you to|you should|you must|you have to|let's|let us|do|try to|simply|immediately|at once)[\s,]+)+|^(?:请你|请帮我|请|帮我|麻烦你|麻烦|替我|给我|现在|立即|马上|立刻|我要|我想|你能|能不能|可以帮我|可以|能否|能)+/;
/** What asks, and does not tell to do. */
const ASKS = /[?？]\s*$|\b(?:who|why|when|what|which|how)\b|谁|什么|哪|为何|几|多少|吗|了没/;

/** What the service is told to do, if a message tells it to do something. */
export function verbIn(asking: Asking): Verb | undefined {
  const lower = asking.question.text.toLowerCase().trim();
  // "Can one approve one's own change?" asks for a rule.
  if (ASKS.test(lower) && !namesOne(asking)) return undefined;
  const politely = POLITE.exec(lower)?.[0] ?? "";
  const rest = lower.slice(politely.length);
  // "Can you approve it?" asks for it too; "批准了吗" does not.
  const isTold =
    !ASKS.test(lower) ||
    (politely !== "" &&
      !/^(?:do|now|just|ok)\b/.test(politely) &&
      !/谁|什么|哪|为何|几|多少|了吗|了没|\b(?:who|why|when|which)\b/.test(lower));
  if (!isTold) return undefined;
  const found = (Object.keys(VERBS) as Verb[]).find((verb) => VERBS[verb].test(rest));
  // `approved by ana` tells what is looked for.
  return found &&
    /^(?:approved|denied|applied|rolled|reverted|withdrawn|revoked|proposed|drafted|批准的|批准了|拒绝了|拒绝的|应用了|应用的|回滚了|回滚的|提出的|提出了|回滚(?:过|率|原因))/.test(
      rest,
    )
    ? undefined
    : found;
}

/** Says that chat does not do it, and where a person does. */
export async function refuseToAct(asking: Asking, verb: Verb): Promise<Answer> {
  const { say, plan, page } = asking;
  const { change_id, tenant_id, target, text } = plan.filter;
  const named = namesOne(asking) ? await find(asking, { change_id, tenant_id, target, text, limit: 5 }) : undefined;
  const changes = (named?.rows ?? []).map(({ change }) => change);
  return {
    text: lines(
      say.decidesNothing(verb),
      changes
        .map((change) => [
          say.summaryOf(change),
          `  ${page(change.change_id)}`,
          `  countersign ${verb} ${change.change_id}`,
        ])
        .flat(),
      named && changes.length === 0 ? say.noneNamed : "",
      changes.length === 0 ? say.whereToAct(page(""), verb) : "",
    ),
    citations: cite(
      "change",
      changes.map(({ change_id: id }) => id),
    ),
  };
}
