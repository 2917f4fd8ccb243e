import { csvRows, type LineError } from '../csv-rows.ts'
import { type Problem, problemText } from '../problem.ts'
import {
  barePath,
  type CompiledRedirect,
  compile,
  isForMachines,
  isOwnHost,
  keyFileOf,
  locationOf,
  REDIRECT_STATUSES,
  type Redirect,
  RedirectMap,
} from './redirects.ts'

const REDIRECTS_LIMIT = 10_000
const ADDRESS_LIMIT_CHARS = 2_048
const ERRORS_SHOWN = 100
/** Browsers follow as many. */
const HOPS = 20

type CheckedRedirects =
  | { ok: true; redirects: Redirect[] }
  /** `lines` is empty if the list as a whole is refused. `problems` is empty for CSV, whose lines have no path. */
  | { ok: false; error: string; lines: LineError[]; problems: Problem[] }

/** An entry as it came; `line` counts from 1. */
type Given = { line: number; from: unknown; to: unknown; status: unknown }

/** Whose redirects they are. */
type RedirectSite = { name: string; indexnowKey: string | null }

/** Checks the body of a PUT: JSON, or the text of a CSV file (RFC 4180) with the columns `from`, `to` and `status`. */
export function checkRedirects(body: unknown, site: RedirectSite): CheckedRedirects {
  if (typeof body === 'string') return checkCsv(body, site)
  const list = (body as { redirects?: unknown } | null)?.redirects
  if (list === undefined) return refusedList('is required')
  if (!Array.isArray(list)) return refusedList('must be an array')
  const given = list.map((entry: Partial<Given> | null, at): Given => {
    const { from, to, status } = entry ?? {}
    return { line: at + 1, from, to, status }
  })
  const checked = check(given, site)
  if (checked.ok || checked.lines.length === 0) return checked
  const problems = checked.lines.map(({ line, error }) => ({ path: ['redirects', line - 1], message: error }))
  return { ...checked, problems }
}

function checkCsv(text: string, site: RedirectSite): CheckedRedirects {
  const rows = csvRows(text.replace(/^\ufeff/, ''))
  if (!Array.isArray(rows)) return atLines([rows])
  const [head = { line: 1, cells: [] }, ...others] = rows
  const names = head.cells.map((cell) => cell.trim().toLowerCase())
  if (!names.includes('from')) {
    return atLines([{ line: head.line, error: 'the header must name from, to and status' }])
  }
  const given = others.map(({ line, cells }): Given => {
    const [from, to, code] = ['from', 'to', 'status'].map((name) => cells[names.indexOf(name)])
    const status = code?.trim() || null
    return { line, from, to, status: status !== null && /^\d{3}$/.test(status) ? Number(status) : status }
  })
  return check(given, site)
}

function refusedList(message: string): CheckedRedirects {
  const problem = { path: ['redirects'], message }
  return { ok: false, error: problemText(problem), lines: [], problems: [problem] }
}

function atLines(errors: readonly LineError[]): CheckedRedirects {
  const [{ line, error }] = errors as [LineError]
  return { ok: false, error: `Line ${line}: ${error}`, lines: errors.slice(0, ERRORS_SHOWN), problems: [] }
}

function check(given: readonly Given[], site: RedirectSite): CheckedRedirects {
  if (given.length > REDIRECTS_LIMIT) return refusedList(`has more than ${REDIRECTS_LIMIT} entries`)
  const errors: LineError[] = []
  /** A wildcard and an exact entry of the same path are two. */
  const known = new Map<string, { line: number; redirect: Redirect; start: CompiledRedirect }>()
  for (const entry of given) {
    const { line, from, to, status } = entry
    const redirect = { from, to: to || null, status: status ?? 301 } as Redirect
    const problem = fromProblem(from, site) ?? statusProblem(status) ?? toProblem(entry)
    const start = problem === null ? compile(redirect) : null
    const same = start === null ? undefined : known.get(start.name)
    const error = problem ?? (same === undefined ? null : `from is the same as in line ${same.line}`)
    if (error !== null) errors.push({ line, error })
    else if (start !== null) known.set(start.name, { line, redirect, start })
  }
  const redirects = [...known.values()].map(({ redirect }) => redirect)
  const map = new RedirectMap(redirects)
  for (const { line, start } of known.values()) {
    const error = wayProblem(start, map, site)
    if (error !== null) errors.push({ line, error })
  }
  if (errors.length === 0) return { ok: true, redirects }
  return atLines(errors.toSorted((first, second) => first.line - second.line))
}

function fromProblem(from: unknown, { indexnowKey }: RedirectSite): string | null {
  if (typeof from !== 'string' || from === '') return 'from is required'
  if (from.length > ADDRESS_LIMIT_CHARS) return `from must have at most ${ADDRESS_LIMIT_CHARS} characters`
  if (!/^\/(?![/\\])/.test(from)) return 'from must be a path that begins with one /'
  if (/[?#]/.test(from)) return 'from must not contain ? or #'
  if (from.slice(0, -1).includes('*')) return 'from may contain * only at its end'
  const path = barePath(from.endsWith('*') ? from.slice(0, -1) : from)
  if (path === null) return 'from is not a valid path'
  const isRefused = !from.endsWith('*') && (isForMachines(path) || path === keyFileOf(indexnowKey))
  return isRefused ? `${path} is never redirected` : null
}

function statusProblem(status: unknown): string | null {
  const isKnown = (REDIRECT_STATUSES as readonly unknown[]).includes(status ?? 301)
  return isKnown ? null : `status must be ${REDIRECT_STATUSES.join(', ')}`
}

function toProblem({ from, to, status }: Given): string | null {
  if (status === 410) return (to ?? '') === '' ? null : 'to must be empty with status 410'
  if ((to ?? '') === '') return 'to is required'
  if (typeof to !== 'string') return 'to must be a string'
  if (to.length > ADDRESS_LIMIT_CHARS) return `to must have at most ${ADDRESS_LIMIT_CHARS} characters`
  if (/[\x00-\x20\x7f-\x9f]/.test(to) || !to.isWellFormed())
    return 'to must not contain spaces or control characters'
  const authority = /^https?:\/\/([^/?#]*)/i.exec(to)
  if (authority === null && !/^\/(?![/\\])/.test(to)) {
    return 'to must be a path that begins with one /, or an address with http or https'
  }
  if (authority !== null && (/^$|[@\\*]/.test(authority[1]!) || !URL.canParse(to)))
    return 'to has no valid host'
  const stars = to.split('*').length - 1
  if (stars > 1) return 'to may contain * once'
  return stars === 1 && !String(from).endsWith('*') ? 'to may contain * only if from does' : null
}

/** Loops, wildcards that grow, and chains of two exact entries. */
function wayProblem(start: CompiledRedirect, map: RedirectMap, site: RedirectSite): string | null {
  const { path, isWildcard } = start
  const nexts = (isWildcard ? [path, `${path}x`] : [path]).map((from) => nextPath(start, from, site))
  if (nexts.some((next) => !ends(next, map, site))) return 'it leads back to itself'
  const [next = null] = isWildcard ? [] : nexts
  return next !== null && map.find(next)?.isWildcard === false
    ? `it leads to ${next}, which is redirected as well`
    : null
}

function ends(path: string | null, map: RedirectMap, site: RedirectSite): boolean {
  const seen = new Set<string>()
  for (let next = path; next !== null; ) {
    if (seen.has(next) || seen.size === HOPS) return false
    seen.add(next)
    next = nextPath(map.find(next), next, site)
  }
  return true
}

/** Returns where a redirect leads on the site, or null if it leads nowhere or to another site. */
function nextPath(redirect: CompiledRedirect | null, path: string, { name }: RedirectSite): string | null {
  const location = redirect === null ? null : locationOf(redirect, path)
  if (location === null) return null
  const url = URL.parse(location, `https://${name}`)
  return url === null || !isOwnHost(url, name)
    ? null
    : barePath(location.startsWith('/') ? location : url.pathname)
}
