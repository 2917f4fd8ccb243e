import { z } from 'zod'
import {
  barePath,
  isNeverRedirected,
  locationOf,
  REDIRECT_STATUSES,
  type Redirect,
  RedirectMap,
  type RedirectStatus,
} from './redirects.ts'

export const REDIRECTS_LIMIT = 10_000
const ADDRESS_LIMIT_CHARS = 2_048
const ERRORS_SHOWN = 100
/** Browsers follow as many. */
const HOPS = 20

export type LineError = { line: number; error: string }

export type CheckedRedirects =
  | { ok: true; redirects: Redirect[] }
  /** `lines` empty: the list as a whole is refused. */
  | { ok: false; error: string; lines: LineError[] }

/** An entry as it came; `line` counts from 1. */
type Given = { line: number; from: unknown; to: unknown; status: unknown }

/** Whose redirects they are. `keyFile`: the path of its IndexNow key, or null. */
export type RedirectSite = { name: string; keyFile: string | null }

/** Checks the body of a PUT. */
export function checkRedirects(body: unknown, site: RedirectSite): CheckedRedirects {
  const list = z.object({ redirects: z.array(z.unknown()) }).safeParse(body)
  if (!list.success) {
    const isAbsent = (body as { redirects?: unknown } | null)?.redirects === undefined
    return refused(isAbsent ? 'redirects is required' : 'redirects must be an array')
  }
  const given = list.data.redirects.map((entry, at): Given => {
    const fields = typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : {}
    return { line: at + 1, from: fields['from'], to: fields['to'], status: fields['status'] }
  })
  return check(given, site)
}

/** Checks a CSV file (RFC 4180) with the columns `from`, `to` and `status`. */
export function checkRedirectsCsv(text: string, site: RedirectSite): CheckedRedirects {
  const rows = csvRows(text.replace(/^\ufeff/, ''))
  if ('error' in rows) return atLines([rows])
  const [head, ...others] = rows.rows
  const names = head?.cells.map((cell) => cell.trim().toLowerCase()) ?? []
  const [from, to, status] = [names.indexOf('from'), names.indexOf('to'), names.indexOf('status')]
  if (from === -1)
    return atLines([{ line: head?.line ?? 1, error: 'the header must name from, to and status' }])
  const given = others.map(({ line, cells }): Given => {
    const code = cells[status]?.trim() ?? ''
    const number = /^\d{3}$/.test(code) ? Number(code) : code
    return { line, from: cells[from], to: cells[to] || null, status: code === '' ? null : number }
  })
  return check(given, site)
}

export function redirectsCsv(redirects: readonly Redirect[]): string {
  const cell = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  const rows = redirects.map(({ from, to, status }) => `${cell(from)},${cell(to ?? '')},${status}\r\n`)
  return `from,to,status\r\n${rows.join('')}`
}

function refused(error: string): CheckedRedirects {
  return { ok: false, error, lines: [] }
}

function atLines(errors: readonly LineError[]): CheckedRedirects {
  const [{ line, error }] = errors as [LineError]
  return { ok: false, error: `Line ${line}: ${error}`, lines: errors.slice(0, ERRORS_SHOWN) }
}

function check(given: readonly Given[], site: RedirectSite): CheckedRedirects {
  if (given.length > REDIRECTS_LIMIT) return refused(`redirects has more than ${REDIRECTS_LIMIT} entries`)
  const errors: LineError[] = []
  const redirects: Redirect[] = []
  const lineOf = new Map<string, number>()
  for (const { line, from, to, status } of given) {
    const error =
      fromProblem(from, site) ??
      statusProblem(status) ??
      toProblem(to, status, (from as string).endsWith('*'))
    if (error !== null) {
      errors.push({ line, error })
      continue
    }
    const redirect = {
      from: from as string,
      to: (to as string) || null,
      status: (status ?? 301) as RedirectStatus,
    }
    const key = nameOf(redirect)
    const before = lineOf.get(key)
    if (before !== undefined) errors.push({ line, error: `from is the same as in line ${before}` })
    else {
      lineOf.set(key, line)
      redirects.push(redirect)
    }
  }
  if (errors.length === 0) {
    const map = new RedirectMap(redirects, site.keyFile)
    for (const [at, redirect] of redirects.entries()) {
      const error = wayProblem(redirect, map, site)
      if (error !== null) errors.push({ line: given[at]!.line, error })
    }
  }
  return errors.length === 0 ? { ok: true, redirects } : atLines(errors)
}

/** A wildcard and an exact entry of the same path are two. */
function nameOf({ from }: Redirect): string {
  return from.endsWith('*') ? `${barePath(from.slice(0, -1))}*` : barePath(from)!
}

function fromProblem(from: unknown, { keyFile }: RedirectSite): string | null {
  if (typeof from !== 'string' || from === '') return 'from is required'
  if (from.length > ADDRESS_LIMIT_CHARS) return `from must have at most ${ADDRESS_LIMIT_CHARS} characters`
  if (!/^\/(?![/\\])/.test(from)) return 'from must be a path that begins with one /'
  if (/[?#]/.test(from)) return 'from must not contain ? or #'
  if (from.slice(0, -1).includes('*')) return 'from may contain * only at its end'
  const path = barePath(from.endsWith('*') ? from.slice(0, -1) : from)
  if (path === null) return 'from is not a valid path'
  if (!from.endsWith('*') && isNeverRedirected(path, keyFile)) return `${path} is never redirected`
  return null
}

function statusProblem(status: unknown): string | null {
  const isKnown = (REDIRECT_STATUSES as readonly unknown[]).includes(status ?? 301)
  return isKnown ? null : `status must be ${REDIRECT_STATUSES.join(', ')}`
}

function toProblem(to: unknown, status: unknown, isWildcard: boolean): string | null {
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
  if (authority !== null && (/[@\\*]/.test(authority[1]!) || !URL.canParse(to))) return 'to has no valid host'
  const stars = to.split('*').length - 1
  if (stars > 1) return 'to may contain * once'
  return stars === 1 && !isWildcard ? 'to may contain * only if from does' : null
}

/** Loops, wildcards that grow, and chains of two exact entries. */
function wayProblem(redirect: Redirect, map: RedirectMap, site: RedirectSite): string | null {
  const { from } = redirect
  const isWildcard = from.endsWith('*')
  const start = barePath(isWildcard ? from.slice(0, -1) : from)!
  const starts = isWildcard ? [start, `${start}x`] : [start]
  if (starts.some((path) => !ends(path, map, site))) return 'it leads back to itself'
  const next = isWildcard ? null : nextPath(start, map, site)
  return next !== null && map.hasExact(next) ? `it leads to ${next}, which is redirected as well` : null
}

function ends(start: string, map: RedirectMap, site: RedirectSite): boolean {
  const seen = new Set([start])
  let path: string | null = start
  for (let hops = 0; hops < HOPS; hops++) {
    path = nextPath(path, map, site)
    if (path === null) return true
    if (seen.has(path)) return false
    seen.add(path)
  }
  return false
}

/** Where a path of the site leads on the site; null: nowhere, or to another site. */
function nextPath(path: string, map: RedirectMap, { name }: RedirectSite): string | null {
  const found = map.find(path)
  const location = found === null ? null : locationOf(found, path)
  if (location === null) return null
  const url = URL.parse(location, `https://${name}`)
  return url === null || url.host !== name
    ? null
    : barePath(location.startsWith('/') ? location : url.pathname)
}

type Row = { line: number; cells: string[] }

/** RFC 4180, with LF or CRLF. Empty lines are skipped. `line`: where a record begins. */
function csvRows(text: string): { rows: Row[] } | LineError {
  const rows: Row[] = []
  let [line, at] = [1, 0]
  while (at < text.length) {
    const row: Row = { line, cells: [] }
    for (;;) {
      const isQuoted = text[at] === '"'
      const end = isQuoted ? closingQuote(text, at) : /[,\r\n]|$/g.exec(text.slice(at))!.index + at
      if (end === -1) return { line: row.line, error: 'a quote is not closed' }
      const raw = text.slice(isQuoted ? at + 1 : at, end)
      row.cells.push(isQuoted ? raw.replaceAll('""', '"') : raw)
      line += isQuoted ? raw.split('\n').length - 1 : 0
      at = isQuoted ? end + 1 : end
      if (text[at] !== ',') break
      at++
    }
    if (text[at] === '\r') at++
    if (at < text.length && text[at] !== '\n') return { line, error: 'this is not valid CSV' }
    at++
    line++
    if (row.cells.length > 1 || row.cells[0]!.trim() !== '') rows.push(row)
  }
  return { rows }
}

function closingQuote(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at !== -1; at = text.indexOf('"', at + 2)) {
    if (text[at + 1] !== '"') return at
  }
  return -1
}
