import { VIA_NAME } from '../../outbound/headers.ts'
import type { CrawlerCategory } from '../../sites/domain-settings.ts'
import type { RequestHead } from '../server/exchange.ts'
import type { EdgeDomain } from './domain.ts'
import type { MissingTarget, PageTarget, Target } from './target.ts'
import type { PassReason } from './verdict.ts'

type Decision = PageTarget | MissingTarget | { kind: 'pass'; why: PassReason }

/** Page or pass. Pure: a table test covers every rule. */
export function decide(
  { method, headers }: Pick<RequestHead, 'method' | 'headers'>,
  crawler: CrawlerCategory | null,
  domain: Pick<EdgeDomain, 'isActive' | 'treatments'>,
  target: Target,
): Decision {
  if (crawler === null) return pass('not-a-crawler')
  if (method !== 'GET' && method !== 'HEAD') return pass('method')
  if (domain.treatments[crawler] !== 'render') return pass('category')
  // A stored page is for everyone; a request with a password is for one user (RFC 9111, section 3.5).
  if (headers.authorization !== undefined) return pass('authorization')
  if (!('page' in target)) return pass(target.kind)
  if (!domain.isActive) return pass('inactive')
  // Our own renderer, or an origin behind us: a render must not cause a render.
  if (headers.via !== undefined && timesThroughUs(headers.via) > 0) return pass('loop')
  return target
}

/** How often `Via` names us (RFC 9110, section 7.6.3). */
export function timesThroughUs(via: string | undefined): number {
  return via === undefined ? 0 : via.split(',').filter((hop) => hop.trim().split(' ')[1] === VIA_NAME).length
}

function pass(why: PassReason): Decision {
  return { kind: 'pass', why }
}
