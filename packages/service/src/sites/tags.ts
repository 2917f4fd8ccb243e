import { tagKey, tagsProblem, uniqueTags } from '@prepaint/contract/api/tags.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, Scope } from '@prepaint/contract/ids.ts'
import { announceAccount } from '@prepaint/postgres/announce.ts'
import { changedFields, record } from '@prepaint/postgres/audit'
import { type Queryable, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { type Changer, domainRightsNow, rightsNow } from '../accounts/actor.ts'

/** `tags` are checked, and no two of them are the same. The domain is one of the account. Throws as `domainRightsNow`. */
export async function replaceTags(
  pool: pg.Pool,
  account: AccountId,
  domain: DomainId,
  tags: readonly string[],
  by: Changer = null,
): Promise<void> {
  await retriedTransaction(pool, async (client) => {
    await domainRightsNow(client, account, { by, domain }, 'replaceTags')
    await writeTags(client, account, [{ id: domain, tags }])
    await announceAccount(client, account)
  })
}

/** For domains of the account. The order is that in which their rows are locked. Records each domain whose tags change. */
export async function writeTags(
  client: Queryable,
  account: AccountId,
  domains: readonly { id: DomainId; tags: readonly string[] }[],
): Promise<void> {
  const { rows: before } = await client.query<{ id: DomainId; name: string; tags: string[] }>(
    `select d.id, d.custom_domain as name, coalesce(t.tags, '{}') as tags
       from domain d left join domain_tags t on t.domain_id = d.id where d.account_id = $1 and d.id = any ($2) order by d.id`,
    [account, domains.map(({ id }) => id)],
  )
  await client.query(
    `insert into domain_tags (domain_id, tags)
     select d.id, array(select jsonb_array_elements_text(n.tags)) from jsonb_to_recordset($2) n (id integer, tags jsonb)
       join domain d on d.id = n.id where d.account_id = $1 order by d.id
     on conflict (domain_id) do update set tags = excluded.tags`,
    [account, JSON.stringify(domains)],
  )
  const tagsOf = new Map(domains.map(({ id, tags }) => [id, tags]))
  for (const { id, name, tags: old } of before) {
    const details = changedFields({ tags: old }, { tags: tagsOf.get(id) })
    if (Object.keys(details).length > 0) {
      await record(client, { account, action: 'domain.changed', domain: name, details })
    }
  }
}

/** The domains within the scope that have a tag, in any case of letters. */
export async function domainsWithTag(
  db: Queryable,
  { account, domains }: Scope,
  tag: string,
): Promise<DomainId[]> {
  const { rows } = await db.query<{ id: DomainId }>(
    `select d.id from domain d join domain_tags t on t.domain_id = d.id
      where d.account_id = $1 and ($2::integer[] is null or d.id = any ($2))
        and exists (select from unnest(t.tags) each where lower(each) = $3) order by d.id`,
    [account, domains, tagKey(tag.trim())],
  )
  return rows.map(({ id }) => id)
}

/**
 * Adds and removes tags of domains of the account. Returns the domains that would have too many, and those out of reach by now:
 * their tags stay. What is in both lists is removed. Throws as `rightsNow`.
 */
export async function changeTags(
  pool: pg.Pool,
  account: AccountId,
  domains: readonly DomainId[],
  { add = [], remove = [], by }: { add?: readonly string[]; remove?: readonly string[]; by: Changer },
): Promise<Map<DomainId, AppError>> {
  const removed = new Set(remove.map(tagKey))
  return retriedTransaction(pool, async (client) => {
    const within = await rightsNow(client, account, by, 'replaceTags')
    const { rows } = await client.query<{ id: DomainId; tags: string[] }>(
      `select d.id, coalesce(t.tags, '{}') as tags from domain d left join domain_tags t on t.domain_id = d.id
        where d.account_id = $1 and d.id = any ($2) order by d.id for no key update of d`,
      [account, domains],
    )
    const refused = new Map<DomainId, AppError>()
    const changed: { id: DomainId; tags: string[] }[] = []
    for (const { id, tags: before } of rows) {
      if (within !== null && !within.includes(id)) {
        refused.set(id, new AppError('domain_not_found'))
        continue
      }
      const tags = uniqueTags([...before, ...add]).filter((tag) => !removed.has(tagKey(tag)))
      const problem = tagsProblem(tags)
      if (problem === null) changed.push({ id, tags })
      else refused.set(id, invalidField(['tags'], problem))
    }
    await writeTags(client, account, changed)
    await announceAccount(client, account)
    return refused
  })
}

/** Lists the tags of the domains within the scope, by name. Of several spellings the most common one is shown. */
export async function listTags(
  db: Queryable,
  { account, domains }: Scope,
): Promise<{ name: string; domains: number }[]> {
  const { rows } = await db.query<{ name: string; domains: number }>(
    `select mode() within group (order by tag collate "C") as name, count(distinct d.id)::integer as domains
       from domain d join domain_tags t on t.domain_id = d.id cross join unnest(t.tags) tag
      where d.account_id = $1 and ($2::integer[] is null or d.id = any ($2))
      group by lower(tag) order by lower(tag)`,
    [account, domains],
  )
  return rows
}
