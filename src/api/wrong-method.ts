import { AppError } from '../errors.ts'
import type { ApiApp } from './app.ts'

/**
 * Answers what no route takes, before anything of the request is read: 404 for
 * an unknown path, 405 with `Allow` for a known one (RFC 9110, 15.5.6), and
 * OPTIONS with `Allow` alone: no other site may call us from a browser.
 */
export function answerUnknownRoutes(app: ApiApp): void {
  const methodsOf = new Map<string, Set<string>>()
  const patterns: { matches: RegExp; url: string }[] = []

  app.addHook('onRoute', ({ url, method }) => {
    if (!methodsOf.has(url)) {
      methodsOf.set(url, new Set(['OPTIONS']))
      patterns.push({
        matches: new RegExp(`^${url.replaceAll('.', '\\.').replace(/:[a-z]+/gi, '[^/]+')}$`),
        url,
      })
    }
    for (const each of [method].flat()) methodsOf.get(url)?.add(each)
  })

  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404 && !lacksParameter(request.params)) return
    const path = request.url.split('?', 1)[0] ?? ''
    const pattern = patterns.find(({ matches }) => matches.test(path))
    if (pattern === undefined) throw new AppError('not_found')
    const allow = [...methodsOf.get(pattern.url)!].sort().join(', ')
    if (request.method !== 'OPTIONS') throw new AppError('method_not_allowed', { headers: { Allow: allow } })
    return reply.code(204).header('Allow', allow).send()
  })
}

/** The router takes `/api/domains/` for a domain without a name. */
function lacksParameter(params: unknown): boolean {
  return Object.values(params ?? {}).includes('')
}
