import { ownerOfDomain } from '../../src/accounts/tokens.ts'
import { withdrawCertificate } from '../../src/certificates/own-certificate.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'

export const certificateRemove = defineCommand({
  options: { domain: { value: 'D', text: 'the domain', required: true } },
  async run(values, around) {
    const name = domainNameOf(values.domain)
    const deleted = await withDatabase(around, async ({ pool, nowMs }) =>
      withdrawCertificate(pool, await ownerOfDomain(pool, name), name, nowMs),
    )
    return { json: { domain: name, deleted }, text: `The certificate of ${name} is out of use.` }
  },
})
