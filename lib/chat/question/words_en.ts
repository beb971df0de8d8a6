/** English words and phrases, by what they mean in a question. */
import type { Lexicon } from "./senses.ts";

export const WORDS_EN: Lexicon = {
  who: "who|whose|which person|which people|who all|by whom|which user",
  whom: "whom|who for|on whom|for whom",
  why: "why|how come|reason|reasons|what for|explain|explanation|rationale|cause|tell me about|what about|details|detail|describe",
  when: "when|what time|what day|at what time|which day|what date|how long ago",
  how_many: "how many|how much|how often|count|number of|total|how large|how big|how long",
  which:
    "which|what|list|show|show me|give me|name|find|any|anything|something|is there|are there|were there|was there",
  may: "may|can|could|allowed|permitted|able|might|eligible|entitled",
  needed: "needed|need|needs|required|require|requires|necessary|must|have to|has to|supposed to|should",
  most: "most|the most|most often|top|more than anyone|busiest|biggest|highest number|ranking|leaderboard|mostly",
  newest: "newest|latest|most recent|most recently|recent|recently|last|lately|new",
  oldest: "longer|oldest|earliest|longest|first|the longest",
  each: "each|per|every|broken down|breakdown|grouped|distribution|split|by each",
  me: "me|my|mine|i|myself|i've|i'm",
  not: "not|n't|never|no|without|isn't|aren't|wasn't|weren't|hasn't|haven't|didn't|don't|doesn't|cannot|can't|nobody|nothing|no one|no-one|except|excluding|except for|other than|apart from|but not",
  help: "help|what can you do|what can i ask|how do you work|what do you know|hi|hello|hey|good morning|what can you tell me|what can you answer",

  proposed:
    "propose|proposes|proposed|proposing|proposal|proposals|suggest|suggests|suggested|suggestion|submit|submits|submitted|file|filed|files|draft|drafted|drafts|put forward|requested|ask for|asked for|proposer|proposers|author|authors|came up with|created|create",
  approved:
    "approve|approves|approved|approving|approval|approvals|consent|consents|consented|sign off|signed off|sign-off|sign-offs|green-lit|greenlit|greenlight|accept|accepted|accepts|agree|agreed|agrees|okayed|ok'd|allowed through|gave consent|gave consents|give consent|let through|endorsed",
  denied:
    "refuse|refused|refuses|deny|denies|denied|denying|denial|denials|reject|rejects|rejected|rejecting|rejection|rejections|turn down|turned down|turns down|decline|declined|declines|vetoed|veto|said no|say no|against|disapproved",
  applied:
    "apply|applies|applied|applying|deploy|deployed|deploys|deployment|deployments|ship|shipped|ships|release|released|releases|roll out|rolled out|rollout|rollouts|went live|go live|gone live|put in force|put into force|took effect|executed|enacted|activated",
  rolled_back:
    "roll|rolls|rolled|rolling|roll back|rolls back|rolled back|rolling back|rollback|rollbacks|revert|reverts|reverted|reverting|undo|undid|undone|undoes|took back|taken back|take back|backed out|unwound",
  expired: "expire|expires|expired|expiry|ran out|run out|timed out|ran out of time|time out",
  lapsed: "lapse|lapsed|lapses|lapsing",
  withdrawn: "withdraw|withdraws|withdrawn|withdrew|retracted|retract|pulled|pull back|cancelled|canceled|cancel",
  revoked:
    "revoke|revoked|revokes|revocation|took back consent|took back their consent|take back consent|consent taken back|withdrew consent|withdrew their consent|withdrew her consent|withdrew his consent|took back her consent|took back his consent",
  decided: "decide|decides|decided|decision|decisions|deciding|decider|deciders|judged|verdict on",
  closed: "close|closed|closes|finished|ended|ends|settled|came to an end|concluded|complete|done with",
  failed:
    "fail|fails|failed|failing|failure|failures|error|errors|went wrong|go wrong|goes wrong|broke|broken|break|crash|crashed|problem|problems|trouble|incident|incidents|did not work|didn't work|unsuccessful|unsuccessfully",
  drifted:
    "drift|drifts|drifted|drifting|out of sync|in sync|out-of-sync|diverge|diverged|diverges|diverging|deviate|deviates|deviated|missing on the host|missing from the host|still shows|differ from|differs from|still matches|still match|tampered with outside|changed outside",
  refused:
    "refused|refuse|refusal|refusals|turned away|not let in|blocked proposals|refused proposals|forbidden proposals",
  reviewed: "review|reviews|reviewed|reviewing|reviewer|reviewers|to be reviewed|post-mortem",
  happened:
    "happen|happens|happened|happening|went on|going on|goes on|new|news|activity|activities|history|events|event|timeline|what's new|what is new|took place|occurred|did|do|does|been up to|worked on|work on|summary|summarise|summarize|changed|done",

  pending:
    "pending|wait for approval|waits for approval|wait for consent|waits for consent|wait for a decision|waits for a decision|wait to be approved|waits to be approved|waiting to be approved|wait to be decided|undecided|awaiting consent|awaiting approval|waiting for consent|waiting for approval|unapproved|not yet approved|not approved yet|in the queue|inbox|outstanding|waiting for a decision|awaiting a decision|not decided|not yet decided|to approve|to decide|to decide on|up for approval|up for decision|open for decision|open proposals|open decisions|needs approval|need approval|needs consent|need consent|needs a decision|need a decision",
  waits:
    "wait|waits|waiting|await|awaits|awaiting|waited|hang|hangs|hanging|stuck|blocks|blocked|blocking|blocker|blockers|holding up|holds up|held up|in the way|still lacks|lacks|lacking|missing|still needs|left to do|to do|on my plate|on my desk|on my list|attention|still has|still have|still must|hold up",
  ready:
    "ready|ready to apply|ready to be applied|can be applied|may be applied|could be applied|ready to go|ready to ship|to apply|to be applied|waiting to be applied|waits to be applied|wait to be applied|not yet applied|not applied yet|approved but not applied|approved and not applied|waiting for apply|waiting for its apply|wait for their apply|waits for its apply|unapplied|not applied|never applied|ready for apply|ready for deployment|to be deployed|ready to deploy|haven't been applied|has not been applied|have not been applied|hasn't been applied|not been applied",
  live: "live|in force|in effect|active|running|currently set|set to|currently on|in production|running on|in use|in place|effective|switched on|now in force|at work",
  open: "not been done|haven't been done|hasn't been done|not done|not yet done|not yet been done|yet to be done|still to be done|to be done|not been finished|haven't been finished|hasn't been finished|not finished|undone|open|still open|unfinished|unresolved|in progress|in flight|not closed",
  overdue: "overdue|late|too late|behind schedule|past due|beyond its time|too old|stale",
  due: "due|deadline|deadlines|coming up|upcoming|due date|due dates|soon due",
  met: "met|deliver|delivers|kept its promise|kept their promise|kept their promises|kept the promise|delivered|worked out|paid off|succeeded|successful|success|kept what it promised|kept what they promised|as promised|reached its target|as expected|fulfilled|keep its promise|keep their promise|keep their promises",
  missed:
    "missed|miss|misses|missed its promise|missed their promise|missed their promises|missed the promise|broke its promise|broke their promise|broke their promises|broken promise|broken promises|fell short|fall short|underdelivered|did not deliver|didn't deliver|not kept|not deliver|underperformed|disappointed|did not keep|didn't keep|failed to deliver|not meet|did not meet|didn't meet",
  regressed:
    "regressed|regress|regression|regressions|made things worse|made it worse|got worse|worsened|worse|backfired|harmed|hurt",
  inconclusive: "inconclusive|unclear|no verdict|without a verdict|without verdict|not judged|unjudged|undetermined",
  early: "too early|too early to tell|too soon|not yet judged",
  outcome:
    "outcome|outcomes|verdict|verdicts|promise|promises|promised|result|results|pay|effect of|impact|realised|realized|expected|worth it",

  log: "log|logs|audit log|audit|audit trail|chain|hash chain|ledger|entries|audit entries|entry|audit chain|journal",
  intact:
    "intact|tampered|tampered with|sound|integrity|hold|holds|valid|consistent|verify|verified|verifies|trustworthy|trust|unbroken|edited|manipulated|forged|corrupt|corrupted|whole|genuine|falsified",
  checkpoint:
    "checkpoint|checkpoints|head|root|merkle root|witness|witnesses|witnessed|cosigned|current hash|signed note",
  kpis: "kpi|kpis|feed|feeds|fed|feeding|metric|metrics|indicator|indicators|key figures|numbers|figures|measurements",
  goals: "goal|goals|on track|targets met|objective|objectives|progress|reach our goal|baseline|behind our goals",
  tasks: "task|tasks|todo|todos|job|jobs",
  peers: "peer|peers|other instances|other nodes|linked|link|neighbours|neighbors|siblings|cross-host",
  policy:
    "policy|policies|rule|rules|intent|manifest|product intent|in the intent|self-approval|self approval|own change|own changes|own proposal|own proposals|consent rules",
  approvers: "approver|approvers|deciders allowed|electorate",
  forbidden:
    "forbidden|prohibited|off limits|off-limits|banned|not allowed|must not be changed|may not be changed|cannot be changed|untouchable|never allowed|forbid|forbids|never be changed|not be changed|not be touched|must not be touched",
  frozen: "frozen|freeze|freezes|froze|thaw|unfrozen|unfreeze|change freeze",
  windows: "window|windows|change window|maintenance window|apply window|hours of the week",
  guardrails: "guardrail|guardrails|guard rail|guard rails|safety net|automatic rollback|automatically rolled back",
  emergency:
    "emergency|emergencies|break glass|break-glass|breakglass|urgent consent|emergency consent|emergency consents",
  owners: "owner|owners|owns|own|owned|belongs to|in charge of|responsible|responsible for",
  status:
    "status|state|overview|how are we|how are things|how are we doing|how are you|how is it going|how's it going|situation|dashboard|the big picture|where do we stand|where are we|standing|current state",
  effect: "effect|e|is the product better|product better|getting better|better",
  memory_figure: "m|record keeping|completeness|undocumented|incomplete records|documentation",
  reliability: "reliability|r|change failure rate|failure rate|reliable",
  need: "n",
  value: "value|values|setting|settings|configured",

  low: "low risk|low-risk|low in risk|low|harmless|safe",
  medium: "medium risk|medium-risk|medium",
  high: "high risk|high-risk|high in risk|risky|high|dangerous|riskiest",
  minor: "minor|without consent|needed no consent|small ones",
  standard: "standard",
  major: "major|large ones",
  config: "config|configs|configuration|configurations|config changes",
  workflow: "workflow|workflows",
  feature_flag: "feature flag|feature flags|feature_flag|flag|flags|feature-flag",
  code_patch: "code patch|code patches|code_patch|patch|patches|code",
  experiment: "experiment|experiments|experimental",
  models: "model|models|llm|ai|language model|assistant|machine|machines|the model|drafted by the model|by a model",
  agents: "agent|agents|bot|bots|program|programs|automation|robot|robots",

  change: "change|changes|modification|modifications|ones|one|item|items|thing|things|update|updates",
  person:
    "person|people|user|users|colleague|colleagues|human|humans|somebody|someone|anybody|anyone|everybody|everyone|member|members|team|by person|names",
  tenant: "tenant|tenants|customer|customers|client|clients",
  target: "target|targets",
  kind: "kind|kinds|type|types|sort|sorts|category|categories",
  risk: "risk|risks|risk level|risk levels",
  tier: "tier|tiers|level|levels",
  day: "day|days|daily|by day",
  week: "week|weeks|weekly|by week",
  month: "month|months|monthly",

  by: "by|from",
  of: "of|on|for|to|in|at|with|about|under|concerning|regarding|against which",
  noise:
    "a|an|the|and|or|but|so|then|than|also|too|please|tell|us|is|are|was|were|be|been|being|has|have|had|having|it|its|it's|this|that|these|those|there|they|them|their|theirs|he|she|him|her|his|we|our|ours|you|your|yours|as|if|out|up|down|into|over|all|both|some|still|yet|already|ever|now|currently|at the moment|at present|again|so far|until now|to date|today's|just|only|really|actually|exactly|currently|until|would|will|shall|want|like|know|let|look|looks|see|get|got|getting|make|made|makes|go|going|goes|went|come|came|comes|far|long|'s|s|who's|what's|where|how|back|since|before|after|during|between|through|within|across|off|around|am|re|'re|'ve|'m|'d|'ll|thanks|thank you|could you|can you|would you|do you|you know|i want to know|i would like to know|tell me|let me know|right now|other|others|else|next|itself|themselves|own|every one|many|much|few|several|there's|and their|ok|okay|right|good|well|kind of|sort of|say|says|said|saying|give|gave|given|gives|take|took|taken|put|keep|kept|mean|means|place|time|times|times has|set|way|person's|service|system|product|software|countersign|record|records|on record|data|answer|question|remember|think|currently there|there been|these days|host|server|hosts|note|notes|noted|comment|comments|with it|main|whole|full|ask|asks|asked|asking|left|whether|doing|fine|anyway|moving|develop|developing|developed|perform|performing|performed|hello there|proceed|proceeding|matter|matters|regard|anything else|turn|turned|turns|write|written|wrote|wait a moment|currently being|moment|since when|alone|actually|finally|eventually|instead|most of|order|case|cases|enough|possible|possibly|sure|yes|word|words|line|lines|hand|hands|it all|someone's|did we|we did|wrong with|somehow|anywhere|somewhere|everywhere|stuff|stuff like|kind to|ones that|along|among|per se|upon|yet to|call|calls|bring|brought|lead|led|try|tried|tries|use|used|uses|using|present|which ones|act|acted|action|actions|due to|because|because of|while|until when|by when|soon|later|ago|earlier|previously|once|twice|same|different|per cent|percent|step|steps|stand|stands|standing out|part|parts|about it|about them|interesting|important|big|small|single|total of|overall|together|altogether|at all|exact|exactly|start|starts|started|beginning|end|week's|month's|lot|more|less|least|fewer|bit|need to know|there to|here|mentioned|named|called|concern|concerns|touch|touched|touches|affect|affects|affected|change's|proposal's|mind|hers|whoever|whatever|whichever|consequence|it was",
};
