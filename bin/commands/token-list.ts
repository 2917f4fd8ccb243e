import { listTokens, ownerOfDomain } from '../../src/accounts/tokens.ts'
import { defineCommand } from '../command.ts'
import { withDatabase } from '../open-store.ts'
import { domainNameOf } from '../option-values.ts'
import { table } from '../table.ts'

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
