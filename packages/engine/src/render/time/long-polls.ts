import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'

/** Beyond these, the least used are forgotten: a page that has one is slow once more. */
const ACCOUNTS = 5_000
export const POLLS_AN_ACCOUNT = 64
/** The back end may only have been down: look again after this time. */
export const KEPT_MS = 3_600_000
const PATTERN_LIMIT_CHARS = 300

/** What one site's requests are known for. */
export type SitePolls = {
  isKnown(method: string, url: string): boolean
  /** Returns whether no render that could wait longer has looked at it since `suspect`. */
  isSuspected(method: string, url: string): boolean
  /** It stayed unanswered for a whole render. */
  learn(method: string, url: string): void
  /** It stayed unanswered for as long as a crawler waits. */
  suspect(method: string, url: string): void
  /** It was answered after all. */
  forget(method: string, url: string): void
}

type Standing = { is: 'known' | 'suspected'; untilMs: number }

/**
 * Requests that no render can wait for, by account, site, method and path pattern. In memory: another node learns them
 * by one slow render.
 */
export class LongPolls {
  readonly #nowMs: () => number
  readonly #accounts = new RecentMap<RecentMap<Standing>>({ limit: ACCOUNTS })

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  forSite({ account = 0, customDomain }: { account?: AccountId | 0; customDomain: DomainName }): SitePolls {
    return new AccountSitePolls(String(account), customDomain, this.#accounts, this.#nowMs)
  }
}

/** Reads and writes the part of `LongPolls` that is about one site of one account. */
class AccountSitePolls implements SitePolls {
  readonly #account: string
  readonly #domain: DomainName
  readonly #accounts: RecentMap<RecentMap<Standing>>
  readonly #nowMs: () => number

  constructor(
    account: string,
    domain: DomainName,
    accounts: RecentMap<RecentMap<Standing>>,
    nowMs: () => number,
  ) {
    this.#account = account
    this.#domain = domain
    this.#accounts = accounts
    this.#nowMs = nowMs
  }

  isKnown(method: string, url: string): boolean {
    return this.#find(method, url) === 'known'
  }

  isSuspected(method: string, url: string): boolean {
    return this.#find(method, url) === 'suspected'
  }

  learn(method: string, url: string): void {
    this.#keep(method, url, 'known')
  }

  suspect(method: string, url: string): void {
    if (this.#find(method, url) === null) this.#keep(method, url, 'suspected')
  }

  forget(method: string, url: string): void {
    this.#accounts.peek(this.#account)?.delete(this.#keyOf(method, url))
  }

  #find(method: string, url: string): Standing['is'] | null {
    const standing = this.#accounts.get(this.#account)?.get(this.#keyOf(method, url))
    return standing !== undefined && standing.untilMs > this.#nowMs() ? standing.is : null
  }

  #keep(method: string, url: string, is: Standing['is']): void {
    const polls = this.#accounts.get(this.#account) ?? new RecentMap<Standing>({ limit: POLLS_AN_ACCOUNT })
    polls.set(this.#keyOf(method, url), { is, untilMs: this.#nowMs() + KEPT_MS })
    this.#accounts.set(this.#account, polls)
  }

  #keyOf(method: string, url: string): string {
    return JSON.stringify([this.#domain, method, patternOf(url)])
  }
}

/** Host and path; `*` for a part with a digit or of more than 32 characters, which names a session or a record. */
export function patternOf(url: string): string {
  const { host = '', pathname = '' } = URL.parse(url) ?? {}
  const parts = pathname.split('/').map((part) => (/\d/.test(part) || part.length > 32 ? '*' : part))
  return `${host}${parts.join('/')}`.slice(0, PATTERN_LIMIT_CHARS)
}
