import {
  monthAfter,
  monthlyReportAnswer,
  monthlyReportQuery,
  monthOf,
  REPORT_MONTHS,
} from '@prepaint/contract/api/reports.ts'
import { invalidField } from '@prepaint/contract/errors.ts'
import type { DomainId, Scope } from '@prepaint/contract/ids.ts'
import { readBranding } from '@prepaint/service/accounts/branding.ts'
import { readAccount } from '@prepaint/service/accounts/own-account.ts'
import {
  monthsOf,
  readMonth,
  summaryOf,
  toDomainOfMonth,
} from '@prepaint/service/insight/reports/monthly-report.ts'
import { domainsWithTag } from '@prepaint/service/sites/tags.ts'
import type { ApiApp, ApiParts } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes, ownedDomain } from '../http/routes.ts'

export function reports(app: ApiApp, { clock, pool }: ApiParts): void {
  accountRoutes(app, 'Traffic')('GET', '/api/reports/monthly', 'getMonthlyReport', {
    summary: 'The report of one month, for a client: each site, and one sentence about all',
    description:
      'Reports are kept for 25 months. The running month is told until now. ' +
      'Paths are those of the last 90 days when a month is kept, a week after its end.',
    query: monthlyReportQuery,
    heaviness: 'read',
    refuses: ['domain_not_found'],
    response: { 200: jsonResponse('The report', monthlyReportAnswer) },
    handler: async (scope, { query }) => {
      const nowMs = clock.nowMs()
      const month = query.month ?? monthAfter(monthOf(nowMs), -1)
      checkMonth(month, nowMs)
      const asked = await scopeOf(scope, query)
      const domains = await readMonth(pool, asked, month, nowMs)
      const { name } = await readAccount(pool, scope.account)
      return {
        month,
        months: await monthsOf(pool, scope.account, nowMs),
        account: { name, branding: await readBranding(pool, scope.account) },
        domains: domains.map(toDomainOfMonth),
        summary: summaryOf(month, domains, nowMs),
      }
    },
  })

  /** The domains that the report is about, all of them within the caller's scope. Throws `domain_not_found`. */
  async function scopeOf(scope: Scope, { domains, tag }: { domains?: string; tag?: string }): Promise<Scope> {
    if (domains !== undefined && tag !== undefined) throw invalidField(['tag'], 'must not be beside domains')
    if (tag !== undefined) {
      return { account: scope.account, domains: await domainsWithTag(pool, scope, tag) }
    }
    if (domains === undefined) return scope
    const ids = new Set<DomainId>()
    const names = new Set(domains.split(',').map((name) => name.trim()))
    for (const name of names) ids.add((await ownedDomain(pool, scope, name)).id)
    return { account: scope.account, domains: [...ids] }
  }
}

/** Throws `invalid_field`. */
function checkMonth(month: string, nowMs: number): void {
  const running = monthOf(nowMs)
  if (month > running) throw invalidField(['month'], 'must not lie in the future')
  if (month < monthAfter(running, -REPORT_MONTHS)) {
    throw invalidField(['month'], `must be one of the last ${REPORT_MONTHS} months`)
  }
}
