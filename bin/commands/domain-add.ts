import { findAccount } from '../../src/accounts/accounts.ts'
import { createDomain } from '../../src/accounts/domain-changes.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'
import { originOf } from '../origin-option.ts'

export const domainAdd = defineCommand({
  options: {
    email: { value: 'E', text: 'the account that owns it', required: true },
    domain: { value: 'D', text: 'the name that visitors use', required: true },
    origin: { value: 'URL', text: 'where the site really lives', required: true },
  },
  async run(values, around) {
    const { config } = around
    const name = domainNameOf(values.domain)
    const originUrl = await originOf(values.origin, config)
    const domain = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await findAccount(pool, values.email)
      return createDomain(pool, id, { name, originUrl }, { plans: config.plans, nowMs })
    })
    return {
      json: { domain },
      text: `Domain ${domain.custom_domain} is registered; its origin is ${domain.origin_url}.`,
    }
  },
})
