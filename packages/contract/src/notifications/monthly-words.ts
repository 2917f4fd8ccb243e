// What screen, letter and API say of a month.

const NUMBER = new Intl.NumberFormat('en')
const MONTH = new Intl.DateTimeFormat('en', { month: 'long', year: 'numeric', timeZone: 'UTC' })

const count = (value: number) => NUMBER.format(value)

/** Writes `October 2026`. */
export function monthName(month: string): string {
  return MONTH.format(new Date(`${month}-01T00:00:00Z`))
}

/** Writes `12 % more`, `as many`, or null if there was nothing before. */
export function differenceWords(now: number, before: number): string | null {
  if (before === 0) return null
  const percent = Math.round((now / before - 1) * 100)
  if (percent === 0) return now === before ? 'as many' : 'about as many'
  return percent > 0 ? `${count(percent)} % more` : `${count(-percent)} % less`
}

export function percentWords(share: number | null): string {
  return share === null ? '–' : `${Math.round(share * 100)} %`
}

/** `pages`: requests for pages, `hits`: how many of them came from the cache. */
type Figures = { domain: string; visits: number; before: number; pages: number; hits: number }

/** `isRunning`: the month has not ended, so it is not compared with the whole one before. */
export function monthSummary(
  month: string,
  domains: readonly Figures[],
  { isRunning }: { isRunning: boolean },
): string {
  const [first] = domains
  if (first === undefined) return 'There is no site in this report.'
  const what = domains.length === 1 ? first.domain : `the ${count(domains.length)} sites`
  const sum = (figure: 'visits' | 'before' | 'pages' | 'hits') =>
    domains.reduce((all, domain) => all + domain[figure], 0)
  const visits = sum('visits')
  const pages = sum('pages')
  const when = `${isRunning ? 'so far ' : ''}in ${monthName(month)}`
  if (visits === 0) return `No crawler visited ${what} ${when}.`
  const times = visits === 1 ? 'once' : `${count(visits)} times`
  const compared = isRunning ? '' : comparedWords(visits, sum('before'))
  const cached =
    pages === 0 ? '' : `, and ${percentWords(sum('hits') / pages)} of the pages came from the cache`
  return `Crawlers visited ${what} ${times} ${when}${compared}${cached}.`
}

function comparedWords(now: number, before: number): string {
  const difference = differenceWords(now, before)
  if (difference === null) return ''
  return `, ${difference} ${difference.endsWith('many') ? 'as' : 'than'} the month before`
}
