import type { PagePath } from '../ids.ts'
import type { Visitor } from '../outcome/outcome.ts'
import type { PageVariant } from '../page/page-id.ts'
import type { Rule, RuleRender } from '../rules/schema.ts'
import type { DomainSettings } from './domain-settings.ts'

export type ComparedPage = { path: string; differs: boolean }

/**
 * Knows which paths have pages of their own for phones. A path that was not compared is like its first segment, or the
 * domain.
 */
export class Devices {
  readonly #setting: DomainSettings['devices']
  readonly #findings = new Map<string, boolean>()

  constructor(setting: DomainSettings['devices'], compared: readonly ComparedPage[]) {
    this.#setting = setting
    for (const { path, differs } of compared) {
      // Keys without `/` are segments and the domain.
      const above = [`segment ${firstSegment(path)}`, 'domain']
      for (const key of above) this.#findings.set(key, differs || this.#findings.get(key) === true)
      this.#findings.set(path, differs)
    }
  }

  get mayTellApart(): boolean {
    return this.#setting === 'both' || (this.#setting === 'auto' && this.#findings.get('domain') === true)
  }

  tellsApart(path: string): boolean {
    if (this.#setting === 'both' || !this.mayTellApart) return this.mayTellApart
    return this.#findings.get(path) ?? this.#findings.get(`segment ${firstSegment(path)}`) ?? true
  }
}

/** Returns `a` for `/a/b?c`. */
export function firstSegment(path: string): string {
  return path.split(/[/?]/, 2)[1] ?? ''
}

export const DEVICE_DIFFERENCES = [
  'text',
  'links',
  'title',
  'description',
  'canonical',
  'structured_data',
  'status',
] as const
export type DeviceDifference = (typeof DEVICE_DIFFERENCES)[number]

export type DevicePage = {
  path: PagePath
  requestedAt: Date
  /** The last comparison that could be made. */
  checkedAt: Date | null
  differences: DeviceDifference[]
}

type Wishes = Omit<RuleRender, 'wait_for' | 'wait_ms' | 'block'>

/** Phones have a screen and user agent of their own: only a rule that is for phones alone changes those. */
export function visitorFor(variant: PageVariant, usual: Wishes = {}, rule: Rule | null = null): Visitor {
  const wanted = { ...usual, ...rule?.render }
  const { locale, time_zone: timeZone } = wanted
  if (variant === 'desktop')
    return { userAgent: wanted.user_agent, viewport: wanted.viewport, locale, timeZone }
  const { user_agent: userAgent, viewport } = (rule?.when?.variant === 'mobile' && rule.render) || {}
  return { userAgent, viewport, locale, timeZone, device: variant }
}
