import { readFileSync } from 'node:fs'
import { ownerOfDomain } from '../../src/accounts/tokens.ts'
import { CHAIN_LIMIT_CHARS, KEY_LIMIT_CHARS } from '../../src/certificates/certificate.ts'
import {
  foundCertificate,
  supplyCertificate,
  withdrawCertificate,
} from '../../src/certificates/own-certificate.ts'
import type { CertificateView } from '../../src/certificates/stored-certificate.ts'
import { forgetSealed } from '../../src/certificates/vault/forget-sealed.ts'
import { createVault } from '../../src/certificates/vault/vault.ts'
import { CommandError, defineCommand } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import { domainNameOf } from '../command-line/options.ts'
import { fields } from '../command-line/output.ts'

export const certificateForget = defineCommand({
  options: {
    'lost-key': {
      value: null,
      text: 'yes, the master key that all certificates here are sealed with is lost, on every node and in every backup',
    },
  },
  async run(values, around) {
    const { dataDir, secretKeys: keys } = around.config
    if (!values['lost-key']) {
      throw new CommandError(
        'This deletes all certificates, the account at the CA and what signs cookies. Say --lost-key, and stop all nodes before.',
      )
    }
    const { ordered, supplied } = await withDatabase(around, async ({ pool, nowMs }) => {
      if (await createVault({ pool, keys, dataDir }).fits()) {
        throw new CommandError('The master key of this node opens all that is sealed here: nothing is lost.')
      }
      return forgetSealed(pool, nowMs)
    })
    const words = [
      `Forgotten: ${ordered.length + supplied.length} certificates. The next node that starts makes or registers a master key.`,
      ...(ordered.length > 0 ? ['Those of the CA are ordered anew, where one is named.'] : []),
      ...(supplied.length > 0 ? [`To be supplied again by their owners: ${supplied.join(', ')}.`] : []),
    ]
    return { json: { ordered, supplied }, text: words.join('\n') }
  },
})

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

/** A domain's certificate and what is known of the next one, for a person. */
function certificateText(domain: string, { certificate, order }: CertificateView): string {
  const shown =
    certificate === null
      ? [['certificate', 'none'] as const]
      : ([
          ['certificate', certificate.source === 'own' ? 'supplied by the owner' : 'ordered by ACME'],
          ['names', certificate.names.join(', ')],
          ['issuer', certificate.issuer],
          ['key', certificate.key],
          ['serial', certificate.serial],
          ['from', certificate.not_before],
          ['until', certificate.not_after],
        ] as const)
  const trouble =
    order.last_error === null
      ? []
      : [[`failed (${order.failures})`, `${order.last_error_at}: ${order.last_error}`] as const]
  return fields([['domain', domain], ...shown, ['looked at', order.next_attempt_at ?? '-'], ...trouble])
}
