import { wholeAccount } from '@prepaint/contract/ids.ts'
import { RIGHTS } from '@prepaint/contract/roles.ts'
import {
  createKey,
  createToken,
  listKeys,
  listTokens,
  ownerOfKey,
  ownerOfToken,
  revokeKey,
  revokeToken,
} from '@prepaint/service/accounts/keys.ts'
import { createSiteToken, findSiteToken, revokeSiteToken } from '@prepaint/service/fronts/site-tokens.ts'
import { type Commands, defineCommand } from '../command-line/command.ts'
import { type OpenStore, withDatabase } from '../command-line/open-database.ts'
import {
  ACCOUNT_OPTIONS,
  accountNamed,
  DOMAIN_OPTION,
  parseChoiceOption,
  parseIdOption,
  parseTimeOption,
  withDomain,
} from '../command-line/options.ts'
import { fields, table } from '../command-line/output.ts'

const listOf = (text: string | null) => text?.split(',').map((each) => each.trim())

const keyCreate = defineCommand({
  options: {
    ...ACCOUNT_OPTIONS,
    name: { value: 'N', text: 'a name to recognise the key by', required: true },
    expires: { value: 'ISO', text: 'when it expires, such as 2027-01-31 or 2027-01-31T12:00:00Z' },
    rights: { value: 'R,R', text: 'some of read, refresh, write; default: all' },
    domains: { value: 'D,D', text: 'only these domains; default: all, later ones too' },
  },
  async run({ name, expires, rights: rightsText, domains: domainsText, ...named }, around) {
    const rights = listOf(rightsText)?.map((right) => parseChoiceOption('rights', right, RIGHTS))
    const domains = listOf(domainsText)
    const expiresAt = expires === null ? null : parseTimeOption('expires', expires)
    const created = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await accountNamed(pool, named)
      const now = { plans: around.config.plans, nowMs }
      return createKey(pool, id, { name, expiresAt, rights, domains }, now)
    })
    around.say(`API key "${created.name}" (id ${created.id}). Shown only once:`)
    return { json: created, text: created.key }
  },
})

const keyList = defineCommand({
  options: ACCOUNT_OPTIONS,
  async run(named, around) {
    const keys = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await accountNamed(pool, named)
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

function revokeCommand(
  group: 'key' | 'token',
  words: string,
  revoke: (store: OpenStore, id: number) => Promise<unknown>,
) {
  return defineCommand({
    options: { id: { value: 'ID', text: `the id in "${group} list"`, required: true } },
    async run(values, around) {
      const id = parseIdOption(values.id)
      await withDatabase(around, (store) => revoke(store, id))
      return {
        json: { revoked: id },
        text: `${words} ${id} is revoked: requests with it are refused from now on.`,
      }
    },
  })
}

const keyRevoke = revokeCommand('key', 'API key', async ({ pool, nowMs }, id) =>
  revokeKey(pool, await ownerOfKey(pool, id), id, nowMs),
)

const tokenCreate = defineCommand({
  options: {
    domain: { value: 'D', text: 'the only domain that the token can refresh', required: true },
    name: { value: 'N', text: 'a name to recognise the token by', required: true },
  },
  run: (values, around) =>
    withDomain(values.domain, around, async ({ account, name }, { pool }) => {
      const created = await createToken(pool, account, name, values.name, around.config.plans)
      around.say(`Webhook token "${created.name}" (id ${created.id}) for ${name}. Shown only once:`)
      return { json: created, text: created.token }
    }),
})

const siteTokenCreate = defineCommand({
  options: {
    domain: { value: 'D', text: "the domain whose pages the site's front may ask for", required: true },
  },
  run: (values, around) =>
    withDomain(values.domain, around, async ({ account, name }, { pool, nowMs }) => {
      const made = { author: 'command line', nowMs }
      const { token, replaces_until: until } = await createSiteToken(pool, account, name, made)
      around.say(`Site token for ${name}. Shown only once:`)
      if (until !== null) around.say(`The token before is valid until ${until}.`)
      return { json: { domain: name, token }, text: token }
    }),
})

const siteTokenShow = defineCommand({
  options: { domain: DOMAIN_OPTION },
  async run(values, around) {
    const token = await withDomain(values.domain, around, ({ account, name }, { pool, nowMs }) =>
      findSiteToken(pool, account, name, nowMs),
    )
    if (token === null) return { json: { site_token: null }, text: 'This domain has no site token.' }
    const text = fields([
      ['created', token.created_at],
      ['by', token.created_by],
      ['last used', token.last_used_at ?? 'never'],
      ['token before', token.replaces_until === null ? 'none' : `valid until ${token.replaces_until}`],
    ])
    return { json: { site_token: token }, text }
  },
})

const siteTokenRevoke = defineCommand({
  options: { domain: DOMAIN_OPTION },
  run: (values, around) =>
    withDomain(values.domain, around, async ({ account, name }, { pool, nowMs }) => {
      await revokeSiteToken(pool, account, name, nowMs)
      return {
        json: { deleted: { domain: name } },
        text: `Site tokens of ${name} are refused from now on: its front sends crawlers the site's own answer.`,
      }
    }),
})

const tokenList = defineCommand({
  options: { domain: DOMAIN_OPTION },
  async run(values, around) {
    const tokens = await withDomain(values.domain, around, ({ account, name }, { pool }) =>
      listTokens(pool, account, name),
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

const tokenRevoke = revokeCommand('token', 'Webhook token', async ({ pool, nowMs }, id) =>
  revokeToken(pool, wholeAccount(await ownerOfToken(pool, id)), id, nowMs),
)

export const commands: Commands = {
  'key create': keyCreate,
  'key list': keyList,
  'key revoke': keyRevoke,
  'token create': tokenCreate,
  'token list': tokenList,
  'token revoke': tokenRevoke,
  'site-token create': siteTokenCreate,
  'site-token show': siteTokenShow,
  'site-token revoke': siteTokenRevoke,
}
