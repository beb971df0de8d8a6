/** English words and phrases, by what they mean in a question. */
import type { Lexicon } from "./senses.ts";

export const WORDS_EN: Lexicon = {
  who: "who|whose|which person|which people|by whom|which user",
  whom: "whom|who for",
  why: "why|how come|reason*|what for|explain|explanation|rationale|cause|tell me about|what about|detail*|describe|grounds|note*|comment*|which words|what words|was said|did they say|say about|said about|reasoning|justification",
  when: "when|what time|what day|which day|what date|how long ago",
  how_many: "how many|how much|how often|count|number of|total|how large|how big|how long",
  which:
    "which|what|list|show|show me|give me|name|find|any|anything|something|is there|are there|were there|was there",
  may: "may|can|could|allowed|permitted|able|might|eligible|entitled",
  needed: "need*|require*|necessary|must|have to|has to|supposed to|should",
  most: "most|most often|top|more than anyone|busiest|biggest|highest number|ranking|leaderboard|mostly|largest|greatest|highest|longest|slowest|worst|best|widest",
  least: "smallest|fewest|least|shortest|quickest|fastest|lowest",
  newest: "newest|latest|most recent|most recently|recent|recently|last|lately|new",
  oldest: "longer|oldest|earliest|longest|first",
  each: "each|per|every|broken down|breakdown|grouped|distribution|split",
  me: "me|my|mine|i|myself|i've|i'm|my desk|my plate|my court|on my plate|on my desk|on my list|need from me|needs me|needs my sign-off|need my sign-off|need* my ok|need* my okay|need* my nod|need* my yes|need* my blessing|need* my go-ahead",
  not: "not|n't|never|no|without|isn't|aren't|wasn't|weren't|hasn't|haven't|didn't|don't|doesn't|cannot|can't|nobody|nothing|no one|no-one|except|excluding|other than|apart from",
  reach: "touch*|affect*|reach*|impact*",
  duration:
    "how long|how many days|how many hours|how quickly|how fast|how much time|duration|longest|slowest|shortest|quickest|fastest|turnaround",
  attempts: "attempt*|tries|how many times|retries",
  irreversible:
    "irreversible|cannot be undone|can't be undone|not be undone|not reversible|no way back|cannot be rolled back|can't be rolled back",
  reversible: "reversible|be undone|be rolled back",
  help: "help|what can you do|what can i ask|how do you work|what do you know|hi|hello|hey|good morning|what can you tell me|what can you answer",

  proposed:
    "propose*|proposal*|suggest*|suggestion|submit*|submitted|file*|draft*|put forward|requested|ask* for|proposer*|author*|came up with|create*|idea*|pitch*|raise*|brought up",
  approved:
    "approve*|approval*|consent*|sign* off|sign-off|sign-offs|green-lit|greenlit|greenlight|accept*|agree*|agreed|okayed|ok'd|allowed through|let through|endorsed|go-ahead|the nod|thumbs up|green light|green-light*|greenlight*|waved through|blessing|sign*|said yes|vote*|in favour|backed",
  denied:
    "refuse*|deny*|denial*|reject*|rejection*|turn* down|decline*|veto*|said no|say no|against|disapproved|fell through|fall through|came to nothing|didn't make it|never made it|knock* back|shot down|shoot* down|thrown out|threw out|voted down|push* back|binned",
  applied:
    "apply*|deploy*|deployment*|ship*|release*|roll* out|rollout*|went live|go live|gone live|put in force|put into force|took effect|executed|enacted|activated|land*|pushed out|push* live|went out|go out|gone out|made it live|to production|going live|goes live|launch*|rolling out",
  rolled_back:
    "roll*|rollback*|revert*|undo|undid|undone|undoes|took back|taken back|take back|backed out|unwound|reverse*|pull*|yank*|took down|taken down",
  expired:
    "expire*|expiry|ran out|run out|time* out|fell through|fall through|came to nothing|didn't make it|never made it|runs out|run* out|expiring",
  lapsed: "lapse*|fell through|fall through|came to nothing|didn't make it|never made it",
  withdrawn:
    "withdraw*|withdrawn|withdrew|retract*|pulled|pull back|cancelled|cancel*|fell through|fall through|came to nothing|didn't make it|never made it|pull*|drop*|scrap*|abandon*|called off|shelved",
  revoked:
    "revoke*|revocation|took back consent|took back their consent|take back consent|consent taken back|withdrew consent|withdrew their consent|withdrew her consent|withdrew his consent|took back her consent|took back his consent|fell through|fall through|came to nothing|didn't make it|never made it|changed her mind|changed his mind|changed their mind|second thoughts",
  decided: "decide*|decision*|decider*|judged|verdict on|the call|last word",
  closed: "close*|finished|ended|ends|settled|came to an end|concluded|complete|done with",
  failed:
    "fail*|failure*|error*|went wrong|go wrong|goes wrong|broke|broken|break|crash*|problem*|trouble|incident*|did not work|didn't work|unsuccessful|unsuccessfully|blew up|fell over|outage*|went south|mishap*",
  drifted:
    "drift*|out of sync|in sync|out-of-sync|diverge*|deviate*|missing on the host|missing from the host|still shows|differ* from|still matches|still match|tampered with outside|changed outside|no longer matches|disappeared|vanished",
  refused: "refused|refuse|refusal*|turned away|not let in|blocked proposals|refused proposals|forbidden proposals",
  reviewed: "review*|reviewer*|post-mortem",
  happened:
    "happen*|went on|going on|goes on|new*|activity*|history|event*|timeline|what is new|took place|occurred|did|do|does|been up to|work* on|summary|summarise|summarize|changed|done|come of|came of|become of|became of|story",

  pending:
    "pending|wait* for approval|wait* for consent|wait* for a decision|wait* to be approved|wait to be decided|undecided|awaiting consent|awaiting approval|unapproved|not yet approved|not approved yet|in the queue|inbox|outstanding|awaiting a decision|not decided|not yet decided|to approve|to decide|up for approval|up for decision|open for decision|open proposals|open decisions|need* approval|need* consent|need* a decision|on the table|up in the air|in limbo|sign-off needed|need a sign-off|needs a sign-off|needs sign-off|needs my sign-off|need my sign-off|to sign off|to be signed off|need* my ok|need* my okay|need* my nod|need* my yes|need* my blessing|need* my go-ahead",
  waits:
    "wait*|await*|hang*|stuck|blocks|blocked|blocking|blocker*|held up|in the way|lacks|lacking|missing|still needs|to do|on my plate|on my desk|on my list|attention|still has|still have|still must|hold* up|my desk|my plate|my court|on hold|sit*|sat|stall*|linger*|in the pipeline|need from me|needs me|bottleneck*|desk|plate",
  ready:
    "ready|ready to apply|ready to be applied|can be applied|may be applied|could be applied|ready to ship|to apply|to be applied|wait* to be applied|not yet applied|approved but not applied|approved and not applied|waiting for apply|waiting for its apply|wait for their apply|waits for its apply|unapplied|not applied|never applied|ready for apply|ready for deployment|to be deployed|ready to deploy|haven't been applied|hasn't been applied|not been applied|good to go|cleared|ready to land|can go live|not shipped|never shipped|not live yet|not out|not out yet|still not out|not yet out|isn't out|aren't out|can ship|can we ship",
  live: "live|in force|in effect|active|running|currently set|set to|currently on|in production|in use|in place|effective|switched on|at work",
  open: "not been done|haven't been done|hasn't been done|not done|not yet done|not yet been done|to be done|not been finished|haven't been finished|hasn't been finished|not finished|undone|open|unfinished|unresolved|in progress|in flight|not closed",
  overdue: "overdue|late|behind schedule|past due|beyond its time|too old|stale|too long",
  due: "due|deadline*|coming up|upcoming|due date|due dates|about to expire|expire soon|expires soon|expiring soon|running out of time|next up|time left|urgent|what's next|what is next|what comes next",
  met: "met|deliver*|kept its promise|kept their promise|kept their promises|kept the promise|worked out|paid off|succeeded|successful|success|kept what it promised|kept what they promised|as promised|reached its target|as expected|fulfilled|keep its promise|keep their promise|keep their promises|kept its word|kept their word|lived up to|live up to|pay off|pays off|came good|help*|panned out|hit its target|did what it promised|did what they promised|worked|kept",
  missed:
    "missed|miss|misses|missed its promise|missed their promise|missed their promises|missed the promise|broke its promise|broke their promise|broke their promises|broken promise|broken promises|fell short|fall short|underdelivered|did not deliver|didn't deliver|not kept|not deliver|underperformed|disappointed|did not keep|didn't keep|failed to deliver|not meet|did not meet|didn't meet|fell flat|came up short|disappointing|let us down|not live up to|didn't pay off|did not pay off|empty promises",
  regressed:
    "regress*|regression*|made things worse|worsened|worse|backfired|harmed|hurt|did harm|wrong way|wrong direction",
  inconclusive: "inconclusive|unclear|no verdict|without a verdict|without verdict|not judged|unjudged|undetermined",
  early: "too early|too soon|not yet judged",
  outcome:
    "outcome*|verdict*|promise*|result*|pay|effect of|realised|realized|expected|worth it|pay off|supposed to do|supposed to bring|supposed to move|meant to do|hoped for|gain*|benefit*|expected effect|make a difference|bring us",

  log: "log*|audit log|audit|audit trail|chain|hash chain|ledger|audit entries|entry*|audit chain|journal",
  intact:
    "intact|tampered|sound|integrity|hold*|valid|consistent|verify*|trustworthy|trust|unbroken|edited|manipulated|forged|corrupt*|whole|genuine|falsified|doctored|fiddled with|meddled with|messed with|altered|rely on",
  checkpoint: "checkpoint*|head|root|merkle root|witness*|cosigned|current hash|signed note",
  kpis: "kpi*|feed*|fed|metric*|indicator*|key figures|numbers|figures|measurements|last updated|last fed",
  unfed:
    "stale|not fed|never fed|not been fed|nobody fed|nobody has fed|nobody feeds|not updated|not been updated|nobody updated|nobody has updated|outdated|out of date|no data|gone quiet|neglected|forgotten",
  goals: "goal*|on track|targets met|objective*|progress|reach our goal|baseline|behind our goals",
  tasks: "task*|todo*|job*|rated|rating*",
  peers: "peer*|other instances|other nodes|link*|neighbours|neighbors|siblings|cross-host",
  policy:
    "policy*|rule*|intent|manifest|self-approval|self approval|own change|own changes|own proposal|own proposals|consent rules",
  approvers: "approver*|deciders allowed|electorate",
  forbidden:
    "forbidden|prohibited|off limits|off-limits|banned|not allowed|must not be changed|may not be changed|cannot be changed|untouchable|never allowed|forbid*|never be changed|not be changed|not be touched|must not be touched|not touch|never touch|shouldn't touch|mustn't touch|can't touch|cannot touch|not supposed to touch|not to touch|hands off|no-go|leave alone|out of bounds",
  frozen: "frozen|freeze*|froze|thaw|unfrozen|unfreeze|change freeze|on ice|lockdown",
  windows: "window*|change window|maintenance window|apply window|hours of the week",
  guardrails: "guardrail*|guard rail|guard rails|safety net|automatic rollback|automatically rolled back|by itself",
  emergency:
    "emergency*|break glass|break-glass|breakglass|urgent consent|emergency consent|emergency consents|hotfix*|rushed through|fast-tracked|expedited|bypass*",
  owners: "owner*|own*|belongs to|in charge of|responsible",
  status:
    "status|state|overview|how are we|how are things|how are you|how is it going|how's it going|situation|dashboard|the big picture|where do we stand|where are we|standing|current state|catch me up|up to speed|nutshell",
  effect: "effect|e|better",
  memory_figure: "m|record keeping|completeness|undocumented|incomplete records|documentation",
  reliability: "reliability|r|change failure rate|failure rate|reliable",
  need: "n",
  value: "value*|setting*|configured",

  low: "low risk|low-risk|low in risk|low|harmless|safe",
  medium: "medium risk|medium-risk|medium",
  high: "high risk|high-risk|high in risk|risky|high|dangerous|riskiest|highest risk|highest-risk",
  minor:
    "minor|without consent|needed no consent|small ones|without anybody's consent|without any consent|without approval|without any approval|without an approval|without anybody approving|without anyone approving|without anyone's consent",
  standard: "standard",
  major: "major|large ones",
  config: "config*|configuration*|config changes",
  workflow: "workflow*",
  feature_flag: "feature flag|feature flags|feature_flag|flag*|feature-flag",
  code_patch: "code patch|code patches|code_patch|patch*|code",
  experiment: "experiment*|experimental",
  models: "model*|llm|ai|language model|assistant|machine*|drafted by the model",
  agents: "agent*|bot*|program*|automation|robot*",

  change: "change|changes|modification*|one*|item*|thing*|update*",
  person: "person|people|user*|colleague*|human*|somebody|someone|anybody|anyone|everybody|everyone|member*|team|names",
  tenant: "tenant*|customer*|client*",
  target: "target*",
  kind: "kind*|type*|sort*|category*",
  risk: "risk*|risk level|risk levels",
  tier: "tier*|level*",
  day: "day*|daily",
  week: "week*|weekly",
  month: "month*|monthly",

  by: "by|from",
  of: "of|on|for|to|in|at|with|about|under|concerning|regarding|against which",
  noise:
    "a|an|the|and|or|but|so|then|than|also|too|please|tell|us|is|are|was|were|be|been|being|has|have*|had|it|its|it's|this|that|these|those|there|they|them|their*|he|she|him|her*|his|we|our*|you|your*|as|if|out|up|down|into|over|all|both|some|still|yet|already|ever|now|currently|again|to date|today's|just|only|really|actually|exactly|until|would|will|shall|want|like|know|let|look*|see|get*|got|make*|made|go|going|goes|went|come*|came|far|long|'s|s|who's|what's|where|how|back|since|before|after|during|between|through|within|across|off|around|am|re|'re|'ve|'m|'d|'ll|thanks|thank you|could you|can you|do you|i want to know|i would like to know|tell me|let me know|other*|else|next|itself|themselves|own|every one|many|much|few|several|there's|ok|okay|right|good|well|kind of|sort of|say*|said|give*|gave|given|take|took|taken|put|keep|kept|mean*|place|time*|set|way|person's|service|system|product|software|countersign|record*|data|answer|question|remember|think|these days|host*|server|main|whole|full|ask*|left|whether|doing|fine|anyway|moving|develop*|perform*|hello there|proceed*|matter*|regard|anything else|turn*|write|written|wrote|wait a moment|moment|since when|alone|finally|eventually|instead|most of|order|case*|enough|possible|possibly|sure|yes|word*|line*|hand*|someone's|did we|we did|wrong with|somehow|anywhere|somewhere|everywhere|stuff|kind to|ones that|along|among|per se|upon|call*|bring|brought|lead|led|try*|use*|present|which ones|act*|action*|due to|because|while|until when|by when|soon|later|ago|earlier|previously|once|twice|same|different|per cent|percent|step*|stand|stands|standing out|part*|interesting|important|big|small|single|total of|overall|together|altogether|exact|start*|beginning|end|week's|month's|lot|more|less|least|fewer|bit|need to know|here|mentioned|named|concern|concerns|change's|proposal's|mind|whoever|whatever|whichever|consequence|actual|real|supposed|beyond|behind|such|move*|average|typically|usually|remind me|wonder*|curious|pls|fyi|btw|quick|quickly|short|briefly|tonight|morning|evening|else's|side|point|above|below|people's|everything|ahead|apiece|respectively|truly|basically|roughly|if nobody|if no one|nobody acts|unless|right away|immediately|straight away|compare|despite",
};
