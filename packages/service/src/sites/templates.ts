import { isDeepStrictEqual } from 'node:util'
import { TEMPLATES_LIMIT, type Template, type TemplateSettings } from '@prepaint/contract/api/templates.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import type { DomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { type Changer, rightsNow } from '../accounts/actor.ts'
import { lockAccount } from './domain-changes.ts'

type Row = { id: number; name: string; settings: TemplateSettings; created_at: Date; updated_at: Date }

const COLUMNS = 'id, name, settings, created_at, updated_at'

export async function listTemplates(db: Queryable, account: AccountId): Promise<Template[]> {
  const { rows } = await db.query<Row>(
    `select ${COLUMNS} from settings_template where account_id = $1 order by lower(name)`,
    [account],
  )
  return rows.map(toTemplate)
}

/** Throws `template_not_found` also for a template of another account. */
export async function findTemplate(db: Queryable, account: AccountId, id: number): Promise<Template> {
  const { rows } = await db.query<Row>(
    `select ${COLUMNS} from settings_template where account_id = $1 and id = $2`,
    [account, id],
  )
  return found(rows[0])
}

type Given = { name: string; settings: TemplateSettings }

/** Throws `template_limit`, `invalid_field` for a name that is used, and as `rightsNow`. */
export async function createTemplate(
  pool: pg.Pool,
  account: AccountId,
  { name, settings }: Given,
  by: Changer,
): Promise<Template> {
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    await rightsNow(client, account, by, 'createTemplate')
    await refuseUsedName(client, account, name, null)
    const { rows } = await client.query<Row>(
      `insert into settings_template (account_id, name, settings)
       select $1, $2, $3 where (select count(*) from settings_template where account_id = $1) < $4
       returning ${COLUMNS}`,
      [account, name, settings, TEMPLATES_LIMIT],
    )
    if (rows[0] === undefined) throw new AppError('template_limit')
    return toTemplate(rows[0])
  })
}

/** Changes the template only: domains that got its settings keep them. Throws `template_not_found` and as `createTemplate`. */
export async function updateTemplate(
  pool: pg.Pool,
  account: AccountId,
  id: number,
  { name, settings }: Given,
  by: Changer,
): Promise<Template> {
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    await rightsNow(client, account, by, 'updateTemplate')
    await refuseUsedName(client, account, name, id)
    const { rows } = await client.query<Row>(
      `update settings_template set name = $3, settings = $4, updated_at = now()
        where account_id = $1 and id = $2 returning ${COLUMNS}`,
      [account, id, name, settings],
    )
    return found(rows[0])
  })
}

/** Throws `template_not_found` and as `rightsNow`. */
export async function deleteTemplate(
  pool: pg.Pool,
  account: AccountId,
  id: number,
  by: Changer,
): Promise<{ id: number; name: string }> {
  return transaction(pool, async (client) => {
    await rightsNow(client, account, by, 'deleteTemplate')
    const { rows } = await client.query<Row>(
      `delete from settings_template where account_id = $1 and id = $2 returning ${COLUMNS}`,
      [account, id],
    )
    const deleted = found(rows[0])
    return { id: deleted.id, name: deleted.name }
  })
}

/** `own`: the template that may keep the name. */
async function refuseUsedName(
  client: Queryable,
  account: AccountId,
  name: string,
  own: number | null,
): Promise<void> {
  const { rowCount } = await client.query(
    'select from settings_template where account_id = $1 and lower(name) = lower($2) and id is distinct from $3',
    [account, name, own],
  )
  if (rowCount !== 0) throw invalidField(['name'], 'is used by another template')
}

type Change = { setting: string; before: unknown; after: unknown }

/** What the template would change in these settings. */
export function changesOf(template: Pick<Template, 'settings'>, settings: DomainSettings): Change[] {
  const before: Readonly<Record<string, unknown>> = settings
  return Object.entries(template.settings)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .filter(([setting, after]) => !isDeepStrictEqual(before[setting], after))
    .map(([setting, after]) => ({ setting, before: before[setting], after }))
}

function found(row: Row | undefined): Template {
  if (row === undefined) throw new AppError('template_not_found')
  return toTemplate(row)
}

function toTemplate({ created_at, updated_at, ...row }: Row): Template {
  return { ...row, created_at: created_at.toISOString(), updated_at: updated_at.toISOString() }
}
