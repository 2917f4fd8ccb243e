import { VIA_NAME } from '../../outbound/headers.ts'
import type { CrawlerCategory } from '../../sites/domain-settings.ts'
import type { EdgeDomain } from './domain.ts'
import type { PageTarget, Target } from './target.ts'
import type { PassReason } from './verdict.ts'

export type Asked = {
  method: string | undefined
  crawler: CrawlerCategory | null
  /** The header `Via`: who handed the request on before us. */
  via: string | undefined
  authorization: string | undefined
}

type Decision = PageTarget | { kind: 'pass'; why: PassReason }

/**
 * Is it ours, or does it pass to the origin? Pure: no clock, no I/O, so every
 * rule is a row in a table test.
 */
export function decide(
  asked: Asked,
  domain: Pick<EdgeDomain, 'isActive' | 'categories'>,
  target: Target,
): Decision {
  if (asked.crawler === null) return pass('not-a-crawler')
  if (asked.method !== 'GET' && asked.method !== 'HEAD') return pass('method')
  if (domain.categories[asked.crawler] === 'pass') return pass('category')
  // A page is rendered for nobody in particular: who shows a password wants his own (RFC 9111, section 3.5).
  if (asked.authorization !== undefined) return pass('authorization')
  if (!('page' in target)) return pass(target.kind)
  if (!domain.isActive) return pass('inactive')
  // Our own renderer, or an origin that is itself behind us: nothing is rendered for a render.
  if (asked.via !== undefined && timesThroughUs(asked.via) > 0) return pass('loop')
  return target
}

/** How often a request has been through a node of ours. */
export function timesThroughUs(via: string | undefined): number {
  return via === undefined ? 0 : via.split(',').filter((hop) => hop.trim().split(' ')[1] === VIA_NAME).length
}

function pass(why: PassReason): Decision {
  return { kind: 'pass', why }
}
