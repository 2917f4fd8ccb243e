import type { DomainId, DomainName } from '../ids.ts'
import type { Redirect } from '../site-files/redirects.ts'
import type { ComparedPage } from './devices.ts'
import type { DomainSettings } from './domain-settings.ts'

/** All that serving a domain needs to know of it. */
export type ServedDomain = {
  id: DomainId
  account: number
  name: DomainName
  originUrl: string
  /** Headers that the origin gets with all requests, as name and value by turns. */
  originHeaders: readonly string[]
  /** Is false also while the account is suspended. */
  isActive: boolean
  settings: DomainSettings
  /** The end of the current certificate, which may be in the past (ms since the epoch), or null if there is none. */
  certificateEndsAtMs: number | null
  redirects: readonly Redirect[]
  /** The owner's text for robots.txt. */
  robotsText: string
  /** Is null if IndexNow was never switched on. */
  indexNowKey: string | null
  comparedPages: readonly ComparedPage[]
}
