import { readFileSync } from 'node:fs'

import { ownerOfDomain } from '../../src/accounts/tokens.ts'
import { CHAIN_LIMIT_CHARS, KEY_LIMIT_CHARS } from '../../src/certificates/certificate.ts'
import { supplyCertificate } from '../../src/certificates/own-certificate.ts'
import { createVault } from '../../src/certificates/vault.ts'
import { certificateText } from '../certificate-text.ts'
import { CommandError, defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'

export const certificateSet = defineCommand({
  options: {
    domain: { value: 'D', text: 'the domain', required: true },
    chain: {
      value: 'FILE',
      text: 'PEM: the certificate of the domain first, then those that sign it',
      required: true,
    },
    key: { value: 'FILE', text: 'PEM: its private key, without a passphrase', required: true },
  },
  async run(values, around) {
    const name = domainNameOf(values.domain)
    const supplied = {
      chain: contentOf(values.chain, CHAIN_LIMIT_CHARS),
      key: contentOf(values.key, KEY_LIMIT_CHARS),
    }
    const { dataDir, secretKeys: keys } = around.config
    const view = await withDatabase(around, async ({ pool, nowMs }) => {
      const vault = createVault({ pool, keys, dataDir })
      const account = await ownerOfDomain(pool, name)
      return supplyCertificate({ pool, vault }, account, name, supplied, nowMs)
    })
    return { json: { domain: name, ...view }, text: certificateText(name, view) }
  },
})

function contentOf(file: string, limitChars: number): string {
  let text: string
  try {
    text = readFileSync(file, 'latin1')
  } catch (error) {
    throw new CommandError(`${file} cannot be read: ${(error as Error).message}`)
  }
  if (text.length > limitChars) throw new CommandError(`${file} has more than ${limitChars} characters`)
  return text
}
