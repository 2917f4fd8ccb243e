import { normalisePath } from '../page/path.ts'

export const REDIRECT_STATUSES = [301, 302, 307, 308, 410] as const
type RedirectStatus = (typeof REDIRECT_STATUSES)[number]

/** A redirect as its owner wrote it. Only a 410 has `to` null. */
export type Redirect = { from: string; to: string | null; status: RedirectStatus }

export type CompiledRedirect = {
  status: RedirectStatus
  /** The normalised `from`, under which hits are counted. */
  name: string
  /** The path without the `*`. */
  path: string
  isWildcard: boolean
  /** The target in ASCII, or null for a 410. */
  to: string | null
}

type Wildcard = CompiledRedirect & {
  /** The longest other wildcard that begins like this one. */
  outer: Wildcard | null
}

/** Returns the path as pages are stored, without a query, or null if it matches nothing. */
export function barePath(url: string): string | null {
  return normalisePath(url.split(/[?#]/, 1)[0]!, 'ignore')
}

/** Finds redirects in a time that does not depend on their number, but for the logarithm of the wildcards. */
export class RedirectMap {
  readonly #exact = new Map<string, CompiledRedirect>()
  /** The wildcards, sorted by path. */
  readonly #wildcards: Wildcard[] = []
  /** Roughly what it takes in memory. */
  readonly chars: number

  constructor(redirects: readonly Redirect[]) {
    let chars = 0
    for (const redirect of redirects) {
      const compiled = compile(redirect)
      if (compiled === null) continue
      chars += 100 + compiled.path.length + (compiled.to?.length ?? 0)
      if (compiled.isWildcard) this.#wildcards.push({ ...compiled, outer: null })
      else this.#exact.set(compiled.path, compiled)
    }
    this.chars = chars
    this.#wildcards.sort((a, b) => (a.path < b.path ? -1 : 1))
    const open: Wildcard[] = []
    for (const wildcard of this.#wildcards) {
      while (open.length > 0 && !wildcard.path.startsWith(open.at(-1)!.path)) open.pop()
      wildcard.outer = open.at(-1) ?? null
      open.push(wildcard)
    }
  }

  /** Returns whether there is a redirect for the stored path, with any query. */
  covers(path: string): boolean {
    return this.find(path.split('?', 1)[0]!) !== null
  }

  /** Finds the redirect of a path that `barePath` made: an exact one before wildcards, and of these the longest. */
  find(path: string): CompiledRedirect | null {
    const exact = this.#exact.get(path)
    if (exact !== undefined) return exact
    if (this.#wildcards.length === 0 || isForMachines(path)) return null
    let low = 0
    let high = this.#wildcards.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#wildcards[middle]!.path <= path) low = middle + 1
      else high = middle
    }
    // The last one that sorts before the path, or one that it begins with.
    let found: Wildcard | null = this.#wildcards[low - 1] ?? null
    while (found !== null && !path.startsWith(found.path)) found = found.outer
    return found
  }
}

/** Returns the path of a domain's IndexNow key. */
export function keyFileOf(key: string | null | undefined): string | null {
  return key == null ? null : `/${key}.txt`
}

/** Crawlers and CAs ask for these: they are never redirected, and open to every crawler. */
export function isForMachines(path: string): boolean {
  return path === '/robots.txt' || path.startsWith('/.well-known/')
}

/** Returns whether the host is the domain's own, also with the dot of a full name. */
export function isOwnHost(url: URL | null, name: string): boolean {
  return url?.host.replace(/\.$/, '') === name
}

/** Returns null if the path matches nothing. */
export function compile({ from, to, status }: Redirect): CompiledRedirect | null {
  const isWildcard = from.endsWith('*')
  const path = barePath(isWildcard ? from.slice(0, -1) : from)
  if (path === null) return null
  const name = isWildcard ? `${path}*` : path
  return { name, path, isWildcard, status, to: to === null ? null : ascii(to) }
}

/** Returns the target as written, but for characters that no header can carry. */
function ascii(to: string): string {
  if (/^[\x21-\x7e]*$/.test(to)) return to
  const [, scheme = '', host = '', rest = ''] = /^(?:(https?:\/\/)([^/?#]*))?(.*)$/is.exec(to)!
  const name = scheme === '' ? '' : (URL.parse(`${scheme}${host}`)?.host ?? host)
  return `${scheme}${name}${rest.replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(character))}`
}

/** Returns the value of `Location`, or null for a 410. The request's query is appended unless `to` has one. */
export function locationOf({ path, isWildcard, to }: CompiledRedirect, url: string): string | null {
  if (to === null) return null
  const mark = url.indexOf('?')
  const query = mark === -1 ? '' : url.slice(mark)
  const text = isWildcard ? (barePath(url) ?? '').slice(path.length) : ''
  const whole = to.replace('*', () => text)
  const [, before = '', fragment = ''] = /^([^#]*)(.*)$/s.exec(whole)!
  const location = before.includes('?') ? whole : `${before}${query.length > 1 ? query : ''}${fragment}`
  // `//host` and `/\host` would lead to another site.
  return to.startsWith('/') ? location.replace(/^(?:[/\\]|%5c)+/i, '/') : location
}
