import { findAccount } from '../../src/accounts/accounts.ts'
import {
  createKey,
  createToken,
  listKeys,
  listTokens,
  ownerOfDomain,
  ownerOfKey,
  ownerOfToken,
  revokeKey,
  revokeToken,
} from '../../src/accounts/keys.ts'
import { type Commands, defineCommand } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import {
  DOMAIN_OPTION,
  EMAIL_OPTION,
  parseDomainOption,
  parseIdOption,
  parseTimeOption,
} from '../command-line/options.ts'
import { table } from '../command-line/output.ts'

const keyCreate = defineCommand({
  options: {
    email: EMAIL_OPTION,
    name: { value: 'N', text: 'a name to recognise the key by', required: true },
    expires: { value: 'ISO', text: 'when it expires, such as 2027-01-31 or 2027-01-31T12:00:00Z' },
  },
  async run({ email, name, expires }, around) {
    const expiresAt = expires === null ? null : parseTimeOption('expires', expires)
    const created = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await findAccount(pool, email)
      const now = { plans: around.config.plans, nowMs }
      return createKey(pool, id, { name, expiresAt }, now)
    })
    around.say(`API key "${created.name}" (id ${created.id}). Shown only once:`)
    return { json: created, text: created.key }
  },
})

const keyList = defineCommand({
  options: { email: EMAIL_OPTION },
  async run({ email }, around) {
    const keys = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await findAccount(pool, email)
      return listKeys(pool, id, nowMs)
    })
    const rows = keys.map((key) => [
      String(key.id),
      key.name,
      `${key.hint}…`,
      key.state,
      key.created_at,
      key.expires_at ?? 'never',
      key.last_used_at ?? 'never',
    ])
    const columns = [
      { heading: 'id', right: true },
      'name',
      'key',
      'state',
      'created',
      'expires',
      'last used',
    ] as const
    return { json: { keys }, text: table(columns, rows, 'This account has no API keys.') }
  },
})

const keyRevoke = defineCommand({
  options: { id: { value: 'ID', text: 'the id in "key list"', required: true } },
  async run(values, around) {
    const id = parseIdOption(values.id)
    await withDatabase(around, async ({ pool, nowMs }) =>
      revokeKey(pool, await ownerOfKey(pool, id), id, nowMs),
    )
    return {
      json: { revoked: id },
      text: `API key ${id} is revoked: requests with it are refused from now on.`,
    }
  },
})

const tokenCreate = defineCommand({
  options: {
    domain: { value: 'D', text: 'the only domain that the token can refresh', required: true },
    name: { value: 'N', text: 'a name to recognise the token by', required: true },
  },
  async run(values, around) {
    const domain = parseDomainOption(values.domain)
    const created = await withDatabase(around, async ({ pool }) =>
      createToken(pool, await ownerOfDomain(pool, domain), domain, values.name, around.config.plans),
    )
    around.say(`Webhook token "${created.name}" (id ${created.id}) for ${domain}. Shown only once:`)
    return { json: created, text: created.token }
  },
})

const tokenList = defineCommand({
  options: { domain: DOMAIN_OPTION },
  async run(values, around) {
    const domain = parseDomainOption(values.domain)
    const tokens = await withDatabase(around, async ({ pool }) =>
      listTokens(pool, await ownerOfDomain(pool, domain), domain),
    )
    const rows = tokens.map((token) => [
      String(token.id),
      token.name,
      `${token.hint}…`,
      token.state,
      token.created_at,
      token.last_used_at ?? 'never',
    ])
    const columns = [
      { heading: 'id', right: true },
      'name',
      'token',
      'state',
      'created',
      'last used',
    ] as const
    return { json: { tokens }, text: table(columns, rows, 'This domain has no webhook tokens.') }
  },
})

const tokenRevoke = defineCommand({
  options: { id: { value: 'ID', text: 'the id in "token list"', required: true } },
  async run(values, around) {
    const id = parseIdOption(values.id)
    await withDatabase(around, async ({ pool, nowMs }) =>
      revokeToken(pool, await ownerOfToken(pool, id), id, nowMs),
    )
    return {
      json: { revoked: id },
      text: `Webhook token ${id} is revoked: requests with it are refused from now on.`,
    }
  },
})

export const commands: Commands = {
  'key create': keyCreate,
  'key list': keyList,
  'key revoke': keyRevoke,
  'token create': tokenCreate,
  'token list': tokenList,
  'token revoke': tokenRevoke,
}
