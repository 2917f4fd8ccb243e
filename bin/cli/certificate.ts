import { readFileSync } from 'node:fs'
import { CHAIN_LIMIT_CHARS, KEY_LIMIT_CHARS } from '@prepaint/contract/api/certificate.ts'
import {
  foundCertificate,
  supplyCertificate,
  withdrawCertificate,
} from '@prepaint/service/certificates/own-certificate.ts'
import type { CertificateView } from '@prepaint/service/certificates/stored-certificate.ts'
import { deleteSealedSecrets } from '@prepaint/service/certificates/vault/delete-secrets.ts'
import { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { CommandError, type Commands, defineCommand } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import { DOMAIN_OPTION, withDomain } from '../command-line/options.ts'
import { fields } from '../command-line/output.ts'
import type { Config } from '../settings/config.ts'

const certificateForget = defineCommand({
  options: {
    'lost-key': {
      value: null,
      text: 'confirm: the master key that encrypts all certificates is lost, on every node and in every backup',
    },
  },
  async run(values, around) {
    const { dataDir, secretKeys: keys } = around.config
    if (!values['lost-key']) {
      throw new CommandError(
        'This deletes all certificates and the account at the CA. Stop all nodes, then add --lost-key.',
      )
    }
    const { ordered, supplied } = await withDatabase(around, async ({ pool, nowMs }) => {
      if (await new Vault(pool, dataDir, keys).fits()) {
        throw new CommandError('The master key of this node decrypts everything here: nothing is lost.')
      }
      return deleteSealedSecrets(pool, nowMs)
    })
    const words = [
      `Deleted ${ordered.length + supplied.length} certificates. The next node that starts registers a master key.`,
    ]
    if (ordered.length > 0) {
      words.push('Certificates from the CA are ordered again if PREPAINT_ACME_DIRECTORY is set.')
    }
    if (supplied.length > 0) words.push(`Owners must supply these again: ${supplied.join(', ')}.`)
    return { json: { ordered, supplied }, text: words.join('\n') }
  },
})

const certificateRemove = defineCommand({
  options: { domain: DOMAIN_OPTION },
  run: (values, around) =>
    withDomain(values.domain, around, async ({ account, name }, { pool, nowMs }) => {
      const deleted = await withdrawCertificate(pool, account, name, nowMs)
      return { json: { domain: name, deleted }, text: `The certificate of ${name} is no longer used.` }
    }),
})

const certificateSet = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    chain: {
      value: 'FILE',
      text: 'PEM: the certificate of the domain, then its issuers',
      required: true,
    },
    key: { value: 'FILE', text: 'PEM: its private key, without a passphrase', required: true },
  },
  async run(values, around) {
    const supplied = {
      chain: contentOf(values.chain, CHAIN_LIMIT_CHARS),
      key: contentOf(values.key, KEY_LIMIT_CHARS),
    }
    const { dataDir, secretKeys: keys } = around.config
    return withDomain(values.domain, around, async ({ account, name }, { pool, nowMs }) => {
      const vault = new Vault(pool, dataDir, keys)
      const view = await supplyCertificate({ pool, vault }, account, name, supplied, nowMs)
      return { json: { domain: name, ...view }, text: certificateText(name, view, around.config) }
    })
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

const certificateShow = defineCommand({
  options: { domain: DOMAIN_OPTION },
  run: (values, around) =>
    withDomain(values.domain, around, async ({ account, name }, { pool }) => {
      const view = await foundCertificate(pool, account, name)
      return { json: { domain: name, ...view }, text: certificateText(name, view, around.config) }
    }),
})

function certificateText(domain: string, { certificate, order }: CertificateView, { acme }: Config): string {
  const lines: [name: string, value: string][] = [['domain', domain]]
  if (certificate === null) lines.push(['certificate', 'none'])
  else {
    lines.push(
      ['certificate', certificate.source === 'own' ? 'supplied by the owner' : 'ordered by ACME'],
      ['names', certificate.names.join(', ')],
      ['issuer', certificate.issuer],
      ['key', certificate.key],
      ['serial', certificate.serial],
      ['from', certificate.not_before],
      ['until', certificate.not_after],
    )
  }
  if (certificate?.source === 'own') lines.push(['next order', 'none: your own certificate is used'])
  else if (acme.directory === null) {
    lines.push(['next order', 'none: this command runs without PREPAINT_ACME_DIRECTORY'])
  } else lines.push(['next order', order.next_attempt_at ?? 'none'])
  if (order.last_error !== null) {
    lines.push([`failed (${order.failures})`, `${order.last_error_at}: ${order.last_error}`])
  }
  return fields(lines)
}

export const commands: Commands = {
  'certificate set': certificateSet,
  'certificate show': certificateShow,
  'certificate remove': certificateRemove,
  'certificate forget': certificateForget,
}
