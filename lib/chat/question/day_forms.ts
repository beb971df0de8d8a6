/** What names days, in English and Chinese. */
import { DAY_MS } from "../../kit/days.ts";
import {
  dated,
  day,
  lastNight,
  lastOf,
  midnight,
  monthAt,
  monthNamed,
  nextOf,
  restOf,
  type Span,
  weekAt,
  weekday,
  weekend,
  yearAt,
} from "./calendar.ts";

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

/** A number in digits or in words, up to ten. */
export const numberIn = (text: string): number => {
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

/** `ahead`: the question speaks of what is to come; `undefined`: it names no days here after all. */
type Read = (found: RegExpExecArray, now: number, ahead: boolean) => Span | undefined;

/** What names days, the longest forms first; each is read from its groups. */
export const FORMS: readonly [RegExp, Read][] = [
  [
    // Of "9 to 15 November" the first.
    new RegExp(
      `(\\d{1,2})(?:st|nd|rd|th)?(?= ?(?:and|to|until|till|through|-|–) ?(?:the )?\\d{1,2}(?:st|nd|rd|th)?(?: of)? ${MONTH}\\b\\.?(?:,? (\\d{4}))?)`,
    ),
    ([, d, m, y], now, ahead) => dated(now, y, monthIndex(m!), Number(d), ahead),
  ],
  [
    /(\d{4})-(\d{1,2})-(\d{1,2})(?:t[\d:.]+z?)?/,
    ([, y, m, d], now, ahead) => dated(now, y, Number(m) - 1, Number(d), ahead),
  ],
  [/(\d{4})-w(\d{2})/, ([, y, w]) => weekAt(Date.UTC(Number(y), 0, 4) + (Number(w) - 1) * 7 * DAY_MS)],
  [/(\d{4})-(\d{2})(?!\d|-)/, ([, y, m], now) => monthNamed(now, y, Number(m) - 1)],
  [
    new RegExp(`(?:the )?(\\d{1,2})(?:st|nd|rd|th)?(?: of)? ${MONTH}\\b\\.?(?:,? (\\d{4}))?`),
    ([, d, m, y], now, ahead) => dated(now, y, monthIndex(m!), Number(d), ahead),
  ],
  [
    new RegExp(`${MONTH}\\b\\.? (?:the )?(\\d{1,2})(?:st|nd|rd|th)?\\b(?!\\d)(?:,? (\\d{4}))?`),
    ([, m, d, y], now, ahead) => dated(now, y, monthIndex(m!), Number(d), ahead),
  ],
  [
    new RegExp(
      `(?<=\\b(?:in|of|during|since|until|before|after|from|and|to|for|through|all|last) )${MONTH}\\b(?: (\\d{4}))?`,
    ),
    ([, m, y], now) => monthNamed(now, y, monthIndex(m!)),
  ],
  [/the day after tomorrow|后天/, (_, now) => day(midnight(now) + 2 * DAY_MS)],
  [/tomorrow|明天|明日/, (_, now) => day(midnight(now) + DAY_MS)],
  [
    new RegExp(`(?:the |in |over |during |within )*(?:next|coming|following) (?:${COUNT} )?(hour|day|week|month)s?`),
    ([, count, unit], now) => {
      if (count !== undefined || unit === "hour" || unit === "day") return nextOf(now, numberIn(count ?? "1"), unit!);
      return unit === "week"
        ? weekAt(now + 7 * DAY_MS)
        : monthAt(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() + 1);
    },
  ],
  [
    new RegExp(`(?:in|within) (?:the )?${COUNT} (hour|day|week|month)s?(?! ago)`),
    ([, count, unit], now, ahead) => (ahead ? nextOf(now, numberIn(count!), unit!) : undefined),
  ],
  [
    /(?:(?:by|before|until|till|at) )?(?:the )?(?:end|rest|remainder) of (?:the |this )?(day|week|month|year)|later this (week|month)/,
    ([, unit, later], now) => restOf(now, unit ?? later!),
  ],
  [
    /(?:到|在)?(本周末|周末|本月底|月底|年底)(?:之?前|以前)|(?<!周)(月底|年底)/,
    ([, unit, alone], now) => restOf(now, unit ?? alone!),
  ],
  [/last night|overnight|昨晚|昨夜/, (_, now) => lastNight(now)],
  [
    /(?:(?:on|over|at|during) )?(?:the |this |last |next )?weekend|(?:上|本|这|这个)?周末/,
    (_, now, ahead) => weekend(now, ahead),
  ],
  [
    /(?<![a-z])(january|february|april|june|july|august|september|october|november|december)(?: (\d{4}))?(?![a-z])/,
    ([, m, y], now) => monthNamed(now, y, monthIndex(m!)),
  ],
  [/the day before yesterday/, (_, now) => day(midnight(now) - 2 * DAY_MS)],
  [/yesterday/, (_, now) => day(midnight(now) - DAY_MS)],
  [/today|this morning|this afternoon|tonight/, (_, now) => day(midnight(now))],
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
    new RegExp(`(last |this |next |on )?(${WEEKDAYS_EN.join("|")})s?\\b`),
    ([, which, name], now, ahead) =>
      weekday(
        now,
        WEEKDAYS_EN.indexOf(name!),
        which === "last " || which === "next ",
        which === "next " || (ahead && which !== "last "),
      ),
  ],
  [
    /(?:(\d{4})年)?(\d{1,2}|十?[一二三四五六七八九十])月(\d{1,2})[日号]?/,
    ([, y, m, d], now, ahead) => dated(now, y, monthZh(m!) - 1, Number(d), ahead),
  ],
  [/(?:(\d{4})年)(\d{1,2}|十?[一二三四五六七八九十])月/, ([, y, m], now) => monthNamed(now, y, monthZh(m!) - 1)],
  [/(?<![个\d])(\d{1,2}|十?[一二三四五六七八九十])月份?/, ([, m], now) => monthNamed(now, undefined, monthZh(m!) - 1)],
  [new RegExp(`${COUNT_ZH}天前`), ([, count], now) => day(midnight(now) - numberIn(count!) * DAY_MS)],
  [/前天/, (_, now) => day(midnight(now) - 2 * DAY_MS)],
  [/昨天|昨日/, (_, now) => day(midnight(now) - DAY_MS)],
  [/今天|今日|今早|今晚/, (_, now) => day(midnight(now))],
  [
    /(上|本|这|这个|下)?(?:个)?(?:周|星期|礼拜)([一二三四五六日天])/,
    ([, which, name], now, ahead) => weekdayZh(now, which, WEEKDAYS_ZH.indexOf(name === "天" ? "日" : name!), ahead),
  ],
  [/上上(?:个)?(?:周|星期|礼拜)/, (_, now) => weekAt(now - 14 * DAY_MS)],
  [/上(?:个|一)?(?:周|星期|礼拜)/, (_, now) => weekAt(now - 7 * DAY_MS)],
  [/下(?:个|一)?(?:周|星期|礼拜)/, (_, now) => weekAt(now + 7 * DAY_MS)],
  [/下(?:个)?月/, (_, now) => monthAt(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() + 1)],
  [/(?:本|这)(?:个|一)?(?:周|星期|礼拜)/, (_, now) => weekAt(now)],
  [/上(?:个)?月/, (_, now) => monthAt(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() - 1)],
  [/(?:本|这个?|当)月/, (_, now) => monthAt(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth())],
  [/(今|去)年/, ([, which], now) => yearAt(now, which === "今" ? 0 : 1)],
  [
    new RegExp(`(?:最近|过去|近)的?${COUNT_ZH}(天|日|周|个?星期|个?礼拜|个?月|个?小时)`),
    ([, count, unit], now) => lastOf(now, numberIn(count!), unit!.replace("个小时", "小时")),
  ],
  [
    new RegExp(`(?:接下来|未来|今后|往后)的?${COUNT_ZH}(天|日|周|个?星期|个?礼拜|个?月|个?小时)之?内?`),
    ([, count, unit], now) => nextOf(now, numberIn(count!), unit!),
  ],
  [
    new RegExp(`${COUNT_ZH}(天|日|周|个?星期|个?礼拜|个?月|个?小时)之?内`),
    ([, count, unit], now, ahead) => (ahead ? nextOf(now, numberIn(count!), unit!) : undefined),
  ],
];

/** `上周三` is in the week before, `周三` the newest one. */
function weekdayZh(now: number, which: string | undefined, index: number, ahead: boolean): Span {
  if (which === undefined) return weekday(now, index, false, ahead);
  const week = weekAt(now + (which === "上" ? -7 : which === "下" ? 7 : 0) * DAY_MS);
  return day(week.from + index * DAY_MS);
}
