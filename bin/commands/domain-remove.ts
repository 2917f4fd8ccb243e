import { deleteDomain } from '../../src/accounts/domain-changes.ts'
import { ownerOfDomain } from '../../src/accounts/tokens.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'

export const domainRemove = defineCommand({
  options: { domain: { value: 'D', text: 'the domain', required: true } },
  async run(values, around) {
    const name = domainNameOf(values.domain)
    const deleted = await withDatabase(around, async ({ pool }) =>
      deleteDomain(pool, await ownerOfDomain(pool, name), name),
    )
    return { json: { deleted }, text: `Domain ${name} and everything stored for it are gone.` }
  },
})
