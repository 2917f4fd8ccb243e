import { ownerOfDomain } from '../../src/accounts/tokens.ts'
import { foundCertificate } from '../../src/certificates/own-certificate.ts'
import { certificateText } from '../certificate-text.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'

export const certificateShow = defineCommand({
  options: { domain: { value: 'D', text: 'the domain', required: true } },
  async run(values, around) {
    const name = domainNameOf(values.domain)
    const view = await withDatabase(around, async ({ pool }) =>
      foundCertificate(pool, await ownerOfDomain(pool, name), name),
    )
    return { json: { domain: name, ...view }, text: certificateText(name, view) }
  },
})
