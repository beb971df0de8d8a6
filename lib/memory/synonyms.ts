/**
 * Words that mean the same here, in English and Chinese: in texts and queries alike each stands for the first of its row, so
 * that 回滚 finds "rolled back". Only what the service itself does and judges. Endings are the stemmer's matter; a word may
 * stand in two rows.
 */
export const SYNONYMS: readonly (readonly [string, ...string[]])[] = [
  ["propose", "proposal", "suggest", "suggestion", "put forward", "提议", "提案", "提出", "建议"],
  ["draft", "起草", "草拟", "草案"],
  ["approve", "approval", "consent", "agree", "sign off", "signed off", "批准", "同意", "通过", "赞成", "核准"],
  [
    ...(["deny", "denial", "reject", "rejection", "refuse", "refusal", "decline", "veto", "turned down"] as const),
    ...["被拒绝", "被拒", "拒绝", "被否决", "否决", "驳回", "不同意", "没批准", "未批准"],
  ],
  ["withdraw", "withdrew", "withdrawn", "withdrawal", "take back", "took back", "taken back", "撤回", "撤销", "撤下"],
  ["revoke", "revocation", "收回", "撤销"],
  [
    ...(["rollback", "roll back", "rolls back", "rolled back", "rolling back", "revert", "reversion"] as const),
    ...["undo", "undid", "undone", "回滚", "回退", "撤回", "还原"],
  ],
  [
    ...(["apply", "deploy", "deployment", "ship", "roll out", "rolled out", "go live", "went live"] as const),
    ...["应用", "上线", "部署", "发布", "生效"],
  ],
  ["expire", "expiry", "expiration", "run out", "ran out", "timed out", "过期", "到期", "超时"],
  ["lapse", "失效"],
  ["drift", "diverge", "out of sync", "漂移", "偏离", "不一致"],
  ["fail", "failure", "error", "broke", "broken", "went wrong", "失败", "出错", "错误", "故障"],
  [
    ...(["miss", "fell short", "fall short", "not met", "underperform"] as const),
    ...["没有达到", "没达到", "未达到", "未达成", "未达", "不达标", "未实现", "没实现", "落空"],
  ],
  ["met", "meet", "fulfil", "达到", "达成", "实现", "达标"],
  ["regress", "regression", "worse", "worsen", "backfire", "变差", "恶化", "倒退", "退步"],
  ["promise", "expect", "expectation", "forecast", "承诺", "预期", "期望", "预计"],
  ["verdict", "outcome", "result", "effect", "结论", "结果", "成效", "效果"],
  [
    "rationale",
    "why",
    "reason",
    "because",
    "motive",
    "justification",
    "为什么",
    "为何",
    "为啥",
    "原因",
    "理由",
    "缘由",
  ],
  ["freeze", "froze", "frozen", "冻结"],
  ["emergency", "break glass", "紧急", "应急"],
  ["guardrail", "护栏"],
  ["review", "复核", "复审", "审查", "评审"],
  ["rate", "feedback", "评分", "评价", "反馈"],
  ["kpi", "metric", "indicator", "指标"],
];
