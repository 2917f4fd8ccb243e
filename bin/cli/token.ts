import {
  createToken,
  listTokens,
  ownerOfDomain,
  ownerOfToken,
  revokeToken,
} from '../../src/accounts/tokens.ts'
import { defineCommand } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import { domainNameOf, idOf } from '../command-line/options.ts'
import { table } from '../command-line/output.ts'

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

export const tokenList = defineCommand({
  options: { domain: { value: 'D', text: 'the domain', required: true } },
  async run(values, around) {
    const domain = domainNameOf(values.domain)
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

export const tokenRevoke = defineCommand({
  options: { id: { value: 'ID', text: 'as "token list" shows it', required: true } },
  async run(values, around) {
    const id = idOf(values.id)
    await withDatabase(around, async ({ pool, nowMs }) =>
      revokeToken(pool, await ownerOfToken(pool, id), id, nowMs),
    )
    return {
      json: { revoked: id },
      text: `Webhook token ${id} is revoked: the next request with it is refused.`,
    }
  },
})
