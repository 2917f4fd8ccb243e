/** A robots.txt as crawlers read it (RFC 9309, and Google's documentation where the RFC is silent). */
export type RobotsText = {
  groups: RobotsGroup[]
  /** Values of `Sitemap` lines, as written. */
  sitemaps: string[]
}

type RobotsGroup = {
  /** Lower case; `*`: all crawlers without a group of their own. */
  tokens: string[]
  /** Index of its last `User-agent` line. */
  agentLine: number
  rules: Rule[]
  /** Lower-case names of its other lines. */
  others: Set<string>
}

type Rule = {
  allow: boolean
  /** Between wildcards. */
  pieces: string[]
  hasQuery: boolean
  /** Ends with `$`. */
  isWhole: boolean
  /** The length in octets: the longest match decides (section 2.2.2). */
  length: number
  /** The line, counted from 1. */
  line: number
  text: string
}

export type RobotsVerdict = {
  allowed: boolean
  /** The line of the rule that decided, counted from 1, or null if none did. */
  line: number | null
  /** That line as it stands. */
  rule: string | null
}

export const LINE_BREAK = /\r\n|\r|\n/

export function parseRobots(text: string): RobotsText {
  const found: RobotsText = { groups: [], sitemaps: [] }
  let group: RobotsGroup | null = null
  let isNaming = false
  for (const [at, line] of text
    .replace(/^\ufeff/, '')
    .split(LINE_BREAK)
    .entries()) {
    const content = line.split('#', 1)[0]!
    const colon = content.indexOf(':')
    if (colon === -1) continue
    const name = content.slice(0, colon).trim().toLowerCase()
    const value = content.slice(colon + 1).trim()
    if (name === 'user-agent') {
      // Only rules end the list of user agents; Google and the RFC's authors read other lines as if they were not there.
      if (group === null || !isNaming) {
        group = { tokens: [], agentLine: at, rules: [], others: new Set() }
        found.groups.push(group)
      }
      isNaming = true
      group.tokens.push(agentToken(value))
      group.agentLine = at
    } else if (name === 'allow' || name === 'disallow') {
      isNaming = false
      // An empty rule matches nothing.
      if (group !== null && value !== '') group.rules.push(ruleOf(name === 'allow', value, at + 1, line))
    } else if (name === 'sitemap') found.sitemaps.push(value)
    else group?.others.add(name)
  }
  return found
}

/** Letters, digits, `_`, `-` and `.`: more than section 2.2.1 has, because crawlers have such names. */
export function agentToken(value: string): string {
  return value.startsWith('*') ? '*' : /^[\w.-]*/.exec(value)![0].toLowerCase()
}

function ruleOf(allow: boolean, value: string, line: number, text: string): Rule {
  const isWhole = value.endsWith('$')
  const spelt = spelled(isWhole ? value.slice(0, -1) : value).replaceAll('$', '%24')
  const pattern = withPlainQuery(spelt)
  const length = pattern.length + (isWhole ? 1 : 0)
  return { allow, pieces: pattern.split('*'), hasQuery: pattern.includes('?'), isWhole, length, line, text }
}

/** RFC 9309, section 2.2.2: octets outside of ASCII are encoded, encoded unreserved ones are not. */
function spelled(text: string): string {
  return text.replace(/%[0-9a-f]{2}|[^\x00-\x7f]/giu, (found) => {
    if (!found.startsWith('%')) return encodeURIComponent(found)
    const character = String.fromCharCode(Number.parseInt(found.slice(1), 16))
    return /[A-Za-z0-9\-._~]/.test(character) ? character : found.toUpperCase()
  })
}

/** Section 2.2.2, second row of the table: in a query, an encoded `:` or `/` is the same as a plain one. */
function withPlainQuery(spelt: string): string {
  const mark = spelt.indexOf('?')
  if (mark === -1) return spelt
  return spelt.slice(0, mark) + spelt.slice(mark).replaceAll('%3A', ':').replaceAll('%2F', '/')
}

/**
 * Whether a crawler may ask for a path with its query. `tokens`: in the order in which it looks for a group; `*` if it
 * obeys what is said to all. Takes time in proportion to the rules and the path.
 */
export function judgePath({ groups }: RobotsText, tokens: readonly string[], path: string): RobotsVerdict {
  const free: RobotsVerdict = { allowed: true, line: null, rule: null }
  if (path.split(/[?#]/, 1)[0] === '/robots.txt') return free
  const named = tokens.find((token) => groups.some((group) => group.tokens.includes(token)))
  if (named === undefined) return free
  const asked = spelled(path.toWellFormed()).replaceAll('*', '%2A').replaceAll('$', '%24')
  const inFull = withPlainQuery(asked)
  let best: Rule | null = null
  for (const group of groups) {
    if (!group.tokens.includes(named)) continue
    for (const rule of group.rules) {
      // Equally long ones: the least restrictive.
      const isBetter =
        best === null ||
        rule.length > best.length ||
        (rule.length === best.length && rule.allow && !best.allow)
      if (isBetter && matches(rule, rule.hasQuery ? inFull : asked)) best = rule
    }
  }
  return best === null ? free : { allowed: best.allow, line: best.line, rule: best.text }
}

/** Finds each piece once, from left to right: no other choice could match more. */
function matches({ pieces, isWhole }: Rule, path: string): boolean {
  if (!path.startsWith(pieces[0]!)) return false
  let at = pieces[0]!.length
  const last = pieces.length - 1
  if (last === 0) return !isWhole || path.length === at
  const rest = isWhole ? last : last + 1
  for (let piece = 1; piece < rest; piece++) {
    const found = path.indexOf(pieces[piece]!, at)
    if (found === -1) return false
    at = found + pieces[piece]!.length
  }
  return !isWhole || (path.endsWith(pieces[last]!) && path.length - pieces[last]!.length >= at)
}
