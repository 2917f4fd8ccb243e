import { knownCrawler } from '@prepaint/contract/crawlers/known-crawlers.ts'
import type { Verdict } from '@prepaint/contract/outcome/verdict.ts'
import type { CrawlerCategory, Treatment } from '@prepaint/contract/settings/domain-settings.ts'
import { barePath, isForMachines } from '@prepaint/contract/site-files/redirects.ts'
import { sendText } from '../page/plain-page.ts'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'
import type { EdgeDomain } from './domain.ts'
import type { Target } from './target.ts'

export type Refusal = { treatment: Extract<Treatment, 'block' | 'payment'>; crawler: CrawlerCategory }

/** Returns null if the owner lets this crawler in, or if the path is open to every crawler. */
export function refusalOf(
  domain: EdgeDomain,
  crawler: CrawlerCategory | null,
  { url, target }: { url: string; target: Target },
): Refusal | null {
  if (crawler === null || !domain.isActive || target.kind === 'sitemap') return null
  const treatment = domain.treatments[crawler]
  if (treatment !== 'block' && treatment !== 'payment') return null
  const path = barePath(url)
  const isOpen = path !== null && (isForMachines(path) || path === domain.termsPath)
  return isOpen ? null : { treatment, crawler }
}

const ENDINGS = {
  block: [403, 'blocked', 'may not read this site. The owner of the site decided this.'],
  payment: [402, 'payment', 'may read this site only for payment. The owner of the site decided this.'],
} as const

/** Sends the refusal. Names the crawler by our own table, because a user agent is the client's text. */
export function sendRefusal(
  req: EdgeRequest,
  res: EdgeResponse,
  { termsUrl }: EdgeDomain,
  { treatment, crawler }: Refusal,
): Verdict {
  const [status, word, words] = ENDINGS[treatment]
  const verdict: Verdict = `${word}; ${crawler}`
  const name = knownCrawler(req.headers['user-agent'] ?? '')?.name ?? 'This crawler'
  const terms = treatment === 'payment' && termsUrl !== null ? termsUrl : null
  const headers = ['Cache-Control', 'no-store', 'Vary', 'User-Agent']
  if (terms !== null) headers.push('Link', `<${terms}>; rel="license"`)
  const body = `${name} ${words}\n${terms === null ? '' : `Terms: ${terms}\n`}`
  return sendText(req, res, { status, verdict, headers, body })
}
