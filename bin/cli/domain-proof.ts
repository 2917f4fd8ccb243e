import type { DomainProof } from '@prepaint/contract/api/proof.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { type Account, findAccountById } from '@prepaint/service/accounts/accounts.ts'
import { moveDomain } from '@prepaint/service/sites/domain-changes.ts'
import { formerAccounts } from '@prepaint/service/sites/proof/former-names.ts'
import { CommandError, type Commands, defineCommand, UsageError } from '../command-line/command.ts'
import { commandProofs } from '../command-line/domain-proofs.ts'
import {
  accountNamed,
  DOMAIN_OPTION,
  parseOriginOption,
  shownDomain,
  withDomain,
} from '../command-line/options.ts'
import { fields } from '../command-line/output.ts'

const TO_OPTIONS = {
  'to-email': { value: 'E', text: 'the account with this contact address' },
  'to-account': { value: 'ID', text: 'the account with this id, where several have one address' },
} as const

type ShownAccount = { id: AccountId; name: string; email: string }
type Claim = { account: ShownAccount; proof: DomainProof }

const domainProof = defineCommand({
  options: { domain: DOMAIN_OPTION, ...TO_OPTIONS },
  run: (values, around) =>
    withDomain(values.domain, around, async (domain, store) => {
      const { pool } = store
      const { proofs, look } = commandProofs(store, around.config)
      const { name } = domain
      const holder = shown(await findAccountById(pool, domain.account))
      const proof = await proofs.read(domain)
      const others = new Set(await formerAccounts(pool, name))
      const asked = { email: values['to-email'], account: values['to-account'] }
      if (asked.email !== null || asked.account !== null) others.add((await accountNamed(pool, asked)).id)
      others.delete(domain.account)
      const claims: Claim[] = []
      for (const account of others) {
        const found = await look({ ...domain, account })
        const known = await proofs.read({ ...domain, account })
        claims.push({
          account: shown(await findAccountById(pool, account)),
          proof: {
            ...known,
            served: false,
            state: found.kind === 'found' ? 'proven' : 'not-asked',
            method: found.kind === 'found' ? found.method : null,
            checked_at: new Date(store.nowMs).toISOString(),
            error: found.kind === 'found' ? null : found.error,
          },
        })
      }
      const text = [
        proofText(`${name} belongs to ${holder.name} (${holder.email})`, proof),
        ...claims.map(({ account, proof: claimed }) =>
          proofText(`${account.name} (${account.email}) could prove it`, claimed),
        ),
      ]
      return { json: { account: holder, proof, claims }, text: text.join('\n\n') }
    }),
})

function shown({ id, name, email }: Account): ShownAccount {
  return { id, name, email }
}

function proofText(title: string, { state, served, method, deadline, error, records }: DomainProof): string {
  const lines: [string, string][] = [['proof', method === null ? state : `${state} by ${method}`]]
  lines.push(['served', served ? 'yes' : 'no'])
  if (deadline !== null) lines.push(['deadline', deadline])
  if (error !== null) lines.push(['last check', error])
  lines.push(['TXT record', `${records.dns.name} ${records.dns.value}`])
  lines.push(['or a file', records.file.url], ['or a tag', records.meta.tag])
  return `${title}\n${fields(lines)}`
}

const domainProve = defineCommand({
  options: { domain: DOMAIN_OPTION },
  run: (values, around) =>
    withDomain(values.domain, around, async (domain, store) => {
      const proof = await commandProofs(store, around.config).proofs.vouch(domain)
      return { json: { proof }, text: `${domain.name} counts as proven: you vouch for it.` }
    }),
})

const domainMove = defineCommand({
  options: {
    domain: DOMAIN_OPTION,
    ...TO_OPTIONS,
    origin: { value: 'URL', text: 'the URL of the site itself, of the account that gets it', required: true },
  },
  async run(values, around) {
    const { config } = around
    const originUrl = await parseOriginOption(values.origin, config)
    return withDomain(values.domain, around, async (domain, store) => {
      const { pool, nowMs } = store
      const { name } = domain
      const given = { email: values['to-email'], account: values['to-account'] }
      if (given.email === null && given.account === null) throw new UsageError('Missing --to-email E')
      const to = await accountNamed(pool, given)
      const { proofs } = commandProofs(store, config)
      const moved = await moveDomain(
        pool,
        { from: domain.account, id: domain.id, to: to.id },
        { name, originUrl, proof: config.domainProof },
        { plans: config.plans, nowMs },
      )
      if ('provenBy' in moved) {
        throw new CommandError(
          `The account of ${name} has proven it (${moved.provenBy}), so that it is not moved. To end that anyway, remove the domain and add it again.`,
        )
      }
      const own = { id: moved.domain.id, account: to.id, name }
      // The account may have set its record up already.
      if ((await proofs.read(own)).state === 'asked') await proofs.look(own)
      const proof = await proofs.read(own)
      const json = { domain: await shownDomain(store, name, config), proof }
      const served = proof.served ? 'It is served.' : 'It is served once the account has proven it.'
      return { json, text: `${name} belongs to ${to.name} (${to.email}) now, as newly registered. ${served}` }
    })
  },
})

export const commands: Commands = {
  'domain proof': domainProof,
  'domain prove': domainProve,
  'domain move': domainMove,
}
