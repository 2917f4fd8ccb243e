import type { Form } from '@prepaint/contract/outcome/form.ts'
import type { PassReason } from '@prepaint/contract/outcome/verdict.ts'
import type { CrawlerCategory } from '@prepaint/contract/settings/domain-settings.ts'
import { VIA_NAME } from '@prepaint/outbound/headers'
import { prefersMarkdown } from '@prepaint/runtime/http/accept-markdown.ts'
import type { RequestHead } from '../server/exchange.ts'
import type { EdgeDomain } from './domain.ts'
import type { MissingTarget, PageTarget, Target } from './target.ts'

type Decision = PageTarget | MissingTarget | { kind: 'pass'; why: PassReason }

/**
 * Who asks, and for which form. A tool is no crawler and asks for Markdown: it is served like crawlers of category
 * `other`. A person has `as` null.
 */
export type Asking = { crawler: CrawlerCategory | null; as: CrawlerCategory | null; form: Form }

export function askingOf(
  { headers }: RequestHead,
  crawler: CrawlerCategory | null,
  domain: EdgeDomain,
): Asking {
  if (domain.markdown && prefersMarkdown(headers.accept)) {
    return { crawler, as: crawler ?? 'other', form: 'markdown' }
  }
  return { crawler, as: crawler, form: domain.cards && crawler === 'social' ? 'card' : 'html' }
}

/** Decides whether the request gets a page, and otherwise why it is passed to the origin. */
export function decide(
  { method, headers }: RequestHead,
  { crawler, as }: Asking,
  domain: EdgeDomain,
  target: Target,
): Decision {
  if (as === null) return pass('not-a-crawler')
  if (method !== 'GET' && method !== 'HEAD') return pass('method')
  if (domain.treatments[as] !== 'render') return pass('category')
  // A stored page is for everyone; a request with a password is for one user (RFC 9111, section 3.5).
  if (headers.authorization !== undefined) return pass('authorization')
  if (!('page' in target)) return pass(target.kind)
  if (!domain.isActive) return pass('inactive')
  // Our own renderer, or an origin behind us: a render must not cause a render.
  if (headers.via !== undefined && timesThroughUs(headers.via) > 0) return pass('loop')
  // Signed in, maybe. Sitemaps are for crawlers.
  if (crawler === null && headers.cookie !== undefined) return pass('cookie')
  if (crawler === null && (target.kind === 'sitemap' || target.kind === 'xml')) return pass('asset')
  return target
}

/** Returns how often `Via` names us (RFC 9110, section 7.6.3). */
export function timesThroughUs(via: string | undefined): number {
  return via === undefined ? 0 : via.split(',').filter((hop) => hop.trim().split(' ')[1] === VIA_NAME).length
}

function pass(why: PassReason): Decision {
  return { kind: 'pass', why }
}
