import { createToken, ownerOfDomain } from '../../src/accounts/tokens.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'

export const tokenCreate = defineCommand({
  options: {
    domain: { value: 'D', text: 'the only domain that the token can refresh', required: true },
    name: { value: 'N', text: 'what you will know the token by', required: true },
  },
  async run(values, around) {
    const domain = domainNameOf(values.domain)
    const created = await withDatabase(around, async ({ pool }) =>
      createToken(pool, await ownerOfDomain(pool, domain), domain, values.name, around.config.plans),
    )
    around.say(`Webhook token "${created.name}" (id ${created.id}) for ${domain}. It is shown this once:`)
    return { json: created, text: created.token }
  },
})
