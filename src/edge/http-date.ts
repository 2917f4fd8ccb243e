const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Three forms in which a date may come (RFC 9110, section 5.6.7); only the first is sent today. */
const IMF = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d\d) (\w{3}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT$/
const RFC850 = /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\d\d)-(\w{3})-(\d\d) (\d\d):(\d\d):(\d\d) GMT$/
const ASCTIME = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (\w{3}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})$/

/**
 * A date of HTTP in milliseconds since the Unix epoch; NaN for all else. Not
 * `Date.parse`, which also takes `2031` for one, and asctime's for local time.
 * A year of two digits is of the century of `nowMs`, or of the one before where
 * it would lie more than fifty years ahead.
 */
export function httpDateMs(text: string, nowMs: number): number {
  const imf = IMF.exec(text)
  if (imf !== null) return utc(imf[3]!, imf[2]!, imf[1]!, imf.slice(4))
  const asctime = ASCTIME.exec(text)
  if (asctime !== null) return utc(asctime[6]!, asctime[1]!, asctime[2]!, asctime.slice(3, 6))
  const rfc850 = RFC850.exec(text)
  if (rfc850 === null) return Number.NaN
  const thisYear = new Date(nowMs).getUTCFullYear()
  const year = thisYear - (thisYear % 100) + Number(rfc850[3])
  return utc(`${year > thisYear + 50 ? year - 100 : year}`, rfc850[2]!, rfc850[1]!, rfc850.slice(4))
}

function utc(year: string, month: string, day: string, time: readonly string[]): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.map(Number)
  const at = MONTHS.indexOf(month)
  const date = Number(day)
  // 60: a leap second.
  if (at === -1 || date < 1 || date > 31 || hours > 23 || minutes > 59 || seconds > 60) return Number.NaN
  return Date.UTC(Number(year), at, date, hours, minutes, seconds)
}
