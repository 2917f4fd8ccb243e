import type { Settings } from '../../api/types.ts'

export type Category = NonNullable<Settings['crawlers']['add']>[number]['category']

/** Who is a crawler on this domain, other than everywhere, as people edit it. */
export type CrawlersForm = {
  added: { key: string; pattern: string; category: Category }[]
  /** One in each line. */
  removed: string
}

/** As the server has them. */
export const PATTERNS_MOST = 100
const PATTERN_CHARS = 100

export function crawlersFormOf({ add = [], remove = [] }: Settings['crawlers']): CrawlersForm {
  return {
    added: add.map((each, at) => ({ key: `stored-${at}`, ...each })),
    removed: remove.join('\n'),
  }
}

export function crawlersOf({ added, removed }: CrawlersForm): Settings['crawlers'] {
  const patterns = patternsOf(removed)
  return {
    ...(added.length > 0 && {
      add: added.map(({ pattern, category }) => ({ pattern: pattern.trim(), category })),
    }),
    ...(patterns.length > 0 && { remove: patterns }),
  }
}

export function crawlersProblems({ added, removed }: CrawlersForm): Record<string, string | null> {
  const patterns = patternsOf(removed)
  const wrong = patterns.find((pattern) => patternProblem(pattern) !== null)
  return {
    ...Object.fromEntries(
      added.map(({ pattern }, at) => [`crawlers.added.${at}.pattern`, patternProblem(pattern.trim())]),
    ),
    'crawlers.removed':
      patterns.length > PATTERNS_MOST
        ? `Name at most ${PATTERNS_MOST}`
        : wrong === undefined
          ? null
          : `${wrong}: ${patternProblem(wrong)}`,
  }
}

function patternProblem(pattern: string): string | null {
  if (pattern.replaceAll('*', '').trim().length < 3) return 'At least 3 characters other than *'
  if (pattern.length > PATTERN_CHARS) return `At most ${PATTERN_CHARS} characters`
  return /^[\x20-\x7e]*$/.test(pattern) ? null : 'Only characters that user agents are made of'
}

function patternsOf(text: string): string[] {
  return [
    ...new Set(
      text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== ''),
    ),
  ]
}
