import { findAccount } from '../../src/accounts/accounts.ts'
import { listAllDomains, listDomains } from '../../src/accounts/domains.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { table } from '../table.ts'

export const domainList = defineCommand({
  options: { email: { value: 'E', text: 'only the domains of this account' } },
  async run({ email }, around) {
    const domains = await withDatabase(around, async ({ pool, nowMs }) => {
      const view = { plans: around.config.plans, nowMs }
      if (email === null) return listAllDomains(pool, view)
      const account = await findAccount(pool, email)
      const own = await listDomains(pool, account.id, view)
      return own.map((domain) => ({ ...domain, email: account.email }))
    })
    const rows = domains.map((domain) => [
      domain.custom_domain,
      domain.origin_url,
      domain.email,
      domain.is_active ? 'yes' : 'no',
      domain.ssl_enabled ? 'in use' : '-',
      `${domain.renders_used} of ${domain.monthly_render_limit}`,
    ])
    const columns = [
      'domain',
      'origin',
      'account',
      'active',
      'certificate',
      { heading: 'renders this month', right: true },
    ] as const
    return { json: { domains }, text: table(columns, rows, 'No domains yet.') }
  },
})
