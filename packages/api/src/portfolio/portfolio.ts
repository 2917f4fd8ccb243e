import { type PortfolioDomain, portfolioAnswer, portfolioQuery } from '@prepaint/contract/api/portfolio.ts'
import type { PortfolioSort } from '@prepaint/contract/portfolio-orders.ts'
import {
  isPlaceOf,
  type PortfolioPlace,
  partOfPortfolio,
  readPortfolio,
} from '@prepaint/service/insight/portfolio.ts'
import { callerOf, isClient } from '../http/access.ts'
import type { ApiApp, ApiOptions, ApiParts } from '../http/app.ts'
import { type CsvCell, csvResponse, csvText, sendCsv, wantsCsv } from '../http/csv.ts'
import { notNext, readPlaceText, writePlaceText } from '../http/list-places.ts'
import { accountRoutes } from '../http/routes.ts'

export function portfolio(app: ApiApp, { clock, pool }: ApiParts, { plans, publicUrl }: ApiOptions): void {
  const add = accountRoutes(app, 'Portfolio')

  add('GET', '/api/portfolio', 'getPortfolio', {
    summary: 'All domains with their state, visits, renders and reasons for trouble, in one answer',
    description: 'As CSV: the same domains, a line for each.',
    heaviness: 'read',
    query: portfolioQuery,
    response: { 200: csvResponse('The domains', portfolioAnswer) },
    handler: async (scope, request, reply) => {
      const { format, state, sort, limit, after, ...filter } = request.query
      const place = after === undefined ? null : readPlace(after, sort)
      const nowMs = clock.nowMs()
      const view = { plan: callerOf(request).plan, plans, publicUrl, nowMs }
      const domains = await readPortfolio(pool, scope, filter, view)
      const all = isClient(request) ? domains.map(withoutAcknowledgements) : domains
      const { next, ...part } = partOfPortfolio(all, { state, sort, limit, after: place })
      if (wantsCsv(request, format)) {
        return sendCsv(
          reply,
          `sites-${new Date(nowMs).toISOString().slice(0, 10)}`,
          portfolioCsv(part.domains),
        )
      }
      return { ...part, next: next === null ? null : writePlaceText([next.sort, ...next.key]) }
    },
  })
}

/** Clients do not see who takes care of an incident. */
function withoutAcknowledgements(domain: PortfolioDomain): PortfolioDomain {
  return {
    ...domain,
    reasons: domain.reasons.map(({ acknowledged_by: _, ...reason }) => reason),
  }
}

/** Throws `invalid_field` unless `text` is the "next" of a list in this order. */
function readPlace(text: string, sort: PortfolioSort): PortfolioPlace {
  const [of, ...key] = readPlaceText(text)
  if (of !== sort || !isPlaceOf(sort, key as PortfolioPlace['key'])) {
    throw notNext()
  }
  return { sort, key: key as PortfolioPlace['key'] }
}

const COLUMNS: readonly [name: string, cell: (domain: PortfolioDomain) => CsvCell][] = [
  ['custom_domain', ({ custom_domain }) => custom_domain],
  ['is_active', ({ is_active }) => String(is_active)],
  ['way', ({ way }) => way],
  ['tags', ({ tags }) => tags.join(';')],
  ['state', ({ state }) => state],
  ['visits', ({ visits }) => visits.total],
  ['hit_ratio', ({ hit_ratio }) => hit_ratio],
  ['failed_ratio', ({ failed_ratio }) => failed_ratio],
  ['renders_used', ({ renders }) => renders.used],
  ['renders_limit', ({ renders }) => renders.limit],
  ['last_crawler', ({ last_crawler }) => last_crawler?.at ?? null],
  ['certificate_ends_at', ({ certificate_ends_at }) => certificate_ends_at],
  ['open_incidents', ({ open_incidents }) => open_incidents],
]

function portfolioCsv(domains: readonly PortfolioDomain[]): string {
  return csvText(
    COLUMNS.map(([name]) => name),
    domains.map((domain) => COLUMNS.map(([, cell]) => cell(domain))),
  )
}
