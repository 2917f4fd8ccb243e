import { wholeAccount } from '@prepaint/contract/ids.ts'
import { SHARE_PARTS } from '@prepaint/contract/share-parts.ts'
import type { Actor } from '@prepaint/service/accounts/actor.ts'
import { createShareLink, listShareLinks, revokeShareLink } from '@prepaint/service/accounts/share-links.ts'
import { type Commands, defineCommand } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import {
  ACCOUNT_OPTIONS,
  accountNamed,
  apiUrl,
  parseChoiceOption,
  parseIdOption,
  parseTimeOption,
} from '../command-line/options.ts'
import { table } from '../command-line/output.ts'

/** The operator acts for the owners of the account. */
const OPERATOR: Actor = { member: null, role: 'owner' }

const listOf = (text: string) => text.split(',').map((each) => each.trim())

const shareCreate = defineCommand({
  options: {
    ...ACCOUNT_OPTIONS,
    name: { value: 'N', text: 'a name that says who gets it', required: true },
    domains: { value: 'D,D', text: 'the domains that it shows', required: true },
    parts: { value: 'P,P', text: `some of ${SHARE_PARTS.join(', ')}; default: all but pages` },
    expires: { value: 'ISO', text: 'when it expires, in 1 hour to 400 days; default: in 90 days' },
  },
  async run({ name, domains, parts: rawParts, expires, ...named }, around) {
    const parts =
      rawParts === null
        ? undefined
        : listOf(rawParts).map((part) => parseChoiceOption('parts', part, SHARE_PARTS))
    const expiresAt = expires === null ? undefined : parseTimeOption('expires', expires)
    const asked = { name, domains: listOf(domains), parts, expiresAt, author: null }
    const { shareLink, token } = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await accountNamed(pool, named)
      return createShareLink(pool, wholeAccount(id), OPERATOR, asked, nowMs)
    })
    const url = `${apiUrl(around.config)}/shared#${token}`
    around.say(`Share link "${shareLink.name}" (id ${shareLink.id}). Shown only once:`)
    return { json: { share_link: shareLink, token, url }, text: url }
  },
})

const shareList = defineCommand({
  options: ACCOUNT_OPTIONS,
  async run(named, around) {
    const links = await withDatabase(around, async ({ pool }) => {
      const { id } = await accountNamed(pool, named)
      return listShareLinks(pool, wholeAccount(id))
    })
    const rows = links.map(({ id, name, domains, parts, expires_at: expires, last_used_at: used }) => [
      String(id),
      name,
      domains.join(', '),
      parts.join(', '),
      expires,
      used ?? 'never',
    ])
    const columns = [
      { heading: 'id', right: true },
      'name',
      'domains',
      'parts',
      'expires',
      'last used',
    ] as const
    return { json: { share_links: links }, text: table(columns, rows, 'This account has no share links.') }
  },
})

const shareRevoke = defineCommand({
  options: {
    ...ACCOUNT_OPTIONS,
    id: { value: 'ID', text: 'the id of the share link', required: true },
  },
  async run({ id: raw, ...named }, around) {
    const deleted = await withDatabase(around, async ({ pool }) => {
      const { id } = await accountNamed(pool, named)
      return revokeShareLink(pool, wholeAccount(id), OPERATOR, parseIdOption(raw))
    })
    return { json: { deleted }, text: `Share link "${deleted.name}" is revoked.` }
  },
})

export const commands: Commands = {
  'share create': shareCreate,
  'share list': shareList,
  'share revoke': shareRevoke,
}
