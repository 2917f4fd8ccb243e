import { AppError } from '../errors.ts'
import type { PagePath } from '../ids.ts'
import { normalisePath, type QueryRule } from '../pages/path.ts'

export const WEBHOOK_URL_LIMIT = 20

/** What a webhook asks for. `urls` are not looked at yet. */
export type WebhookBody = { kind: 'urls'; urls: readonly unknown[] } | { kind: 'all' }

/** Throws `webhook_body_missing` for anything but one of the two forms, also for both at once; `webhook_too_many_urls`. */
export function readWebhookBody(body: unknown): WebhookBody {
  if (typeof body !== 'object' || body === null) throw new AppError('webhook_body_missing')
  const { urls, all } = body as { urls?: unknown; all?: unknown }
  if (all === true && urls === undefined) return { kind: 'all' }
  if (!Array.isArray(urls) || all === true) throw new AppError('webhook_body_missing')
  if (urls.length > WEBHOOK_URL_LIMIT) throw new AppError('webhook_too_many_urls')
  return { kind: 'urls', urls }
}

/**
 * The paths among `urls` in the spelling of stored paths, each once, and what
 * is none. Throws `webhook_no_valid_paths` when nothing is left.
 */
export function sortUrls(
  urls: readonly unknown[],
  query: QueryRule,
): { paths: PagePath[]; ignored: string[] } {
  const paths = new Set<PagePath>()
  const ignored: string[] = []
  for (const url of urls) {
    const path = typeof url === 'string' ? normalisePath(url, query) : null
    if (path !== null) paths.add(path)
    else ignored.push(typeof url === 'string' ? url : JSON.stringify(url))
  }
  if (paths.size === 0) throw new AppError('webhook_no_valid_paths')
  return { paths: [...paths], ignored }
}
