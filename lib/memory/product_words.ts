/**
 * Chinese words for what products have, with how English ones for the same begin: records are mostly written in English, and
 * are asked after in Chinese. `提醒邮件` finds "Remind customers" on mail.reminders.
 */
const PRODUCT_WORDS =
  "邮件 mail email|提醒 remind|通知 notif notice|隐私 privacy|声明 notice statement|深色 dark|暗色 dark|模式 mode|主题 theme|横幅 banner|维护 maintenance|表单 form|短 short|注册 signup sign regist|登录 login signin sign session auth|会话 session|密钥 key|账户 account|账号 account|合并 merge|重复 duplicate|访客 guest|游客 guest|结账 checkout|购买 buy purchase|价格 pric|定价 pric|套餐 bundle plan|捆绑 bundle|折扣 discount|优惠 discount|上限 limit cap|限制 limit cap|席位 seat|试用期 trial|试用 trial|重试 retr|退避 back|缓存 cache|队列 queue|大小 size|容量 size capacity|搜索 search|检索 search|测试版 beta|导出 export|导入 import|格式 format|表格 spreadsheet table|新手 onboarding new|引导 onboarding tour guide|回复 reply answer respon|客服 support|支持 support|工单 ticket|线索 lead|评分 scor rating|路由 rout|分配 rout assign|摘要 digest summary|频率 frequency|减少 fewer less reduc|循环 loop|保留 retention retain keep|数据保留 retention|存储 storage|发票 invoice|账单 invoice billing|计费 billing|报表 report|仪表盘 dashboard|备份 backup|订阅 subscri|续费 renew|退款 refund|支付 pay|付款 pay|税 tax|限流 throttl rate";

/** How the English words begin that a Chinese one is looked for by. */
export const WORDS_OF_PRODUCTS: ReadonlyMap<string, readonly string[]> = new Map(
  PRODUCT_WORDS.split("|").map((row) => {
    const [word, ...begins] = row.split(" ");
    return [word!, begins];
  }),
);
