import { findDomain } from '../../src/accounts/domains.ts'
import { ownerOfDomain } from '../../src/accounts/tokens.ts'
import { AppError } from '../../src/errors.ts'
import { defineCommand } from '../command.ts'
import { domainText } from '../domain-fields.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'

export const domainShow = defineCommand({
  options: { domain: { value: 'D', text: 'the domain', required: true } },
  async run(values, around) {
    const name = domainNameOf(values.domain)
    const { plans } = around.config
    const domain = await withDatabase(around, async ({ pool, nowMs }) =>
      findDomain(pool, await ownerOfDomain(pool, name), name, { plans, nowMs }),
    )
    if (domain === null) throw new AppError('domain_not_found')
    return { json: { domain }, text: domainText(domain) }
  },
})
