/** What names days, in English and Chinese. */
import { DAY_MS } from "../../kit/days.ts";
import { dated, day, lastOf, midnight, monthAt, monthNamed, type Span, weekAt, weekday, yearAt } from "./calendar.ts";

const WEEKDAYS_EN = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const MONTHS_EN = [
  "january",
  "february",
  "march",
  "april",
  "may",
  "june",
  "july",
  "august",
  "september",
  "october",
  "november",
  "december",
];
const WEEKDAYS_ZH = "一二三四五六日";
const DIGITS_ZH = "零一二三四五六七八九十";
const NUMBER_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

const MONTH = `(${MONTHS_EN.join("|")}|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec)`;
const COUNT = `(\\d{1,3}|${NUMBER_WORDS.slice(1).join("|")})`;
const COUNT_ZH = "(\\d{1,3}|[一二两三四五六七八九十])";

const numberIn = (text: string): number => {
  const word = NUMBER_WORDS.indexOf(text);
  if (word > 0) return word;
  if (text === "两") return 2;
  const han = DIGITS_ZH.indexOf(text);
  return han > 0 ? han : Number(text);
};
/** `2`, `二` or `十一`: as months are written. */
const monthZh = (text: string): number =>
  /^\d/.test(text)
    ? Number(text)
    : [...text].reduce((sum, one) => (one === "十" ? sum + 10 : sum + DIGITS_ZH.indexOf(one)), 0);

const monthIndex = (name: string): number => MONTHS_EN.findIndex((month) => month.startsWith(name.slice(0, 3)));

type Read = (found: RegExpExecArray, now: number) => Span | undefined;

/** What names days, the longest forms first; each is read from its groups. */
export const FORMS: readonly [RegExp, Read][] = [
  [
    // Of "9 to 15 November" the first.
    new RegExp(
      `(\\d{1,2})(?:st|nd|rd|th)?(?= ?(?:and|to|until|till|through|-|–) ?(?:the )?\\d{1,2}(?:st|nd|rd|th)?(?: of)? ${MONTH}\\b\\.?(?:,? (\\d{4}))?)`,
    ),
    ([, d, m, y], now) => dated(now, y, monthIndex(m!), Number(d)),
  ],
  [/(\d{4})-(\d{1,2})-(\d{1,2})(?:t[\d:.]+z?)?/, ([, y, m, d], now) => dated(now, y, Number(m) - 1, Number(d))],
  [/(\d{4})-w(\d{2})/, ([, y, w]) => weekAt(Date.UTC(Number(y), 0, 4) + (Number(w) - 1) * 7 * DAY_MS)],
  [/(\d{4})-(\d{2})(?!\d|-)/, ([, y, m], now) => monthNamed(now, y, Number(m) - 1)],
  [
    new RegExp(`(?:the )?(\\d{1,2})(?:st|nd|rd|th)?(?: of)? ${MONTH}\\b\\.?(?:,? (\\d{4}))?`),
    ([, d, m, y], now) => dated(now, y, monthIndex(m!), Number(d)),
  ],
  [
    new RegExp(`${MONTH}\\b\\.? (?:the )?(\\d{1,2})(?:st|nd|rd|th)?\\b(?!\\d)(?:,? (\\d{4}))?`),
    ([, m, d, y], now) => dated(now, y, monthIndex(m!), Number(d)),
  ],
  [
    new RegExp(
      `(?<=\\b(?:in|of|during|since|until|before|after|from|and|to|for|through|all|last) )${MONTH}\\b(?: (\\d{4}))?`,
    ),
    ([, m, y], now) => monthNamed(now, y, monthIndex(m!)),
  ],
  [/the day before yesterday/, (_, now) => day(midnight(now) - 2 * DAY_MS)],
  [/yesterday/, (_, now) => day(midnight(now) - DAY_MS)],
  [/today|this morning/, (_, now) => day(midnight(now))],
  [
    new RegExp(`(?:the |in |over |during )*(?:last|past|previous) ${COUNT} (hour|day|week|month)s?`),
    ([, count, unit], now) => lastOf(now, numberIn(count!), unit!),
  ],
  [new RegExp(`${COUNT} days? ago`), ([, count], now) => day(midnight(now) - numberIn(count!) * DAY_MS)],
  [new RegExp(`${COUNT} weeks? ago`), ([, count], now) => weekAt(now - numberIn(count!) * 7 * DAY_MS)],
  [/(?:the )?past (day|week|month)/, ([, unit], now) => lastOf(now, 1, unit!)],
  [/(?:the )?week before last/, (_, now) => weekAt(now - 14 * DAY_MS)],
  [/(?:the )?(?:last|previous) week/, (_, now) => weekAt(now - 7 * DAY_MS)],
  [/(?:this|the current) week/, (_, now) => weekAt(now)],
  [
    /(?:the )?(?:last|previous) month/,
    (_, now) => monthAt(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() - 1),
  ],
  [/(?:this|the current) month/, (_, now) => monthAt(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth())],
  [/(this|last) year/, ([, which], now) => yearAt(now, which === "this" ? 0 : 1)],
  [
    new RegExp(`(last |this |on )?(${WEEKDAYS_EN.join("|")})s?\\b`),
    ([, last, name], now) => weekday(now, WEEKDAYS_EN.indexOf(name!), last === "last "),
  ],
  [
    /(?:(\d{4})年)?(\d{1,2}|十?[一二三四五六七八九十])月(\d{1,2})[日号]?/,
    ([, y, m, d], now) => dated(now, y, monthZh(m!) - 1, Number(d)),
  ],
  [/(?:(\d{4})年)(\d{1,2}|十?[一二三四五六七八九十])月/, ([, y, m], now) => monthNamed(now, y, monthZh(m!) - 1)],
  [/(?<![个\d])(\d{1,2}|十?[一二三四五六七八九十])月份?/, ([, m], now) => monthNamed(now, undefined, monthZh(m!) - 1)],
  [new RegExp(`${COUNT_ZH}天前`), ([, count], now) => day(midnight(now) - numberIn(count!) * DAY_MS)],
  [/前天/, (_, now) => day(midnight(now) - 2 * DAY_MS)],
  [/昨天|昨日/, (_, now) => day(midnight(now) - DAY_MS)],
  [/今天|今日/, (_, now) => day(midnight(now))],
  [
    /(上|本|这|这个)?(?:个)?(?:周|星期|礼拜)([一二三四五六日天])/,
    ([, which, name], now) => weekdayZh(now, which, WEEKDAYS_ZH.indexOf(name === "天" ? "日" : name!)),
  ],
  [/上上(?:个)?(?:周|星期|礼拜)/, (_, now) => weekAt(now - 14 * DAY_MS)],
  [/上(?:个|一)?(?:周|星期|礼拜)/, (_, now) => weekAt(now - 7 * DAY_MS)],
  [/(?:本|这)(?:个|一)?(?:周|星期|礼拜)/, (_, now) => weekAt(now)],
  [/上(?:个)?月/, (_, now) => monthAt(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() - 1)],
  [/(?:本|这个?|当)月/, (_, now) => monthAt(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth())],
  [/(今|去)年/, ([, which], now) => yearAt(now, which === "今" ? 0 : 1)],
  [
    new RegExp(`(?:最近|过去|近)的?${COUNT_ZH}(天|日|周|个?星期|个?礼拜|个?月|个?小时)`),
    ([, count, unit], now) => lastOf(now, numberIn(count!), unit!.replace("个小时", "小时")),
  ],
];

/** `上周三` is in the week before, `周三` the newest one. */
function weekdayZh(now: number, which: string | undefined, index: number): Span {
  if (which === undefined) return weekday(now, index, false);
  const week = weekAt(which === "上" ? now - 7 * DAY_MS : now);
  return day(week.from + index * DAY_MS);
}
