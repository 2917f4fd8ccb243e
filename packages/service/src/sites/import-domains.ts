import type { ImportLine } from '@prepaint/contract/api/portfolio.ts'
import type { ProofMode } from '@prepaint/contract/api/proof.ts'
import type { Template, TemplateSettings } from '@prepaint/contract/api/templates.ts'
import { AppError, publicError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import type { DomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { type Changer, rightsNow } from '../accounts/actor.ts'
import { addDomain, checkSiteLimit, lockAccount, updateWithin } from './domain-changes.ts'
import type { DomainView } from './domains.ts'
import { writeTags } from './tags.ts'

/** A line of a file that was read. `name` null: it has none that could be registered, and `error` says why. */
export type GivenDomain = {
  line: number
  name: DomainName | null
  originUrl: string
  tags: readonly string[]
  way: DomainSettings['way']
  template: Template | null
  error: string | null
}

type Asked = {
  account: AccountId
  author: string
  isDryRun: boolean
  isPartial: boolean
  by: Changer
  /** Of which domains a proof is asked. */
  proof: ProofMode
}

/**
 * Adds the domains of a file, all or none; with `isPartial`, those without an error. Throws `site_limit` if the plan has no
 * room for all lines, and as `rightsNow`.
 */
export async function importDomains(
  pool: pg.Pool,
  given: readonly GivenDomain[],
  asked: Asked,
  view: DomainView,
): Promise<ImportLine[]> {
  const { account, by, isDryRun, isPartial } = asked
  await checkSiteLimit(pool, view.plans, account, given.length)
  const taken = await takenNames(pool, given)
  const checked = given.map((each) =>
    each.error === null && each.name !== null && taken.has(each.name)
      ? { ...each, error: existsText() }
      : each,
  )
  const isRefused = checked.some(({ error }) => error !== null) && !isPartial
  if (isDryRun || isRefused) return checked.map((each) => lineOf(each, 'would-add'))
  try {
    return await retriedTransaction(pool, async (client) => {
      await lockAccount(client, account)
      await rightsNow(client, account, by, 'importDomains')
      await checkSiteLimit(client, view.plans, account, given.length)
      const lines: ImportLine[] = []
      for (const each of checked) lines.push(lineOf(await added(client, each, asked, view), 'added'))
      if (!isPartial && lines.some(({ state }) => state === 'error')) throw new NotAll(lines)
      return lines
    })
  } catch (error) {
    if (!(error instanceof NotAll)) throw error
    return error.lines.map((line) => (line.state === 'added' ? { ...line, state: 'would-add' } : line))
  }
}

/** Rolls back: a name was registered while the file was checked. */
class NotAll extends Error {
  readonly lines: readonly ImportLine[]

  constructor(lines: readonly ImportLine[]) {
    super('not all lines could be added')
    this.lines = lines
  }
}

async function takenNames(db: Queryable, given: readonly GivenDomain[]): Promise<Set<string>> {
  const names = given.flatMap(({ name }) => name ?? [])
  const { rows } = await db.query<{ name: string }>(
    'select custom_domain as name from domain where custom_domain = any ($1)',
    [names],
  )
  return new Set(rows.map(({ name }) => name))
}

/** Adds one domain. Returns it with the error, if there is one: then nothing of it was written. */
async function added(
  client: Queryable,
  given: GivenDomain,
  { account, author, proof }: Asked,
  view: DomainView,
): Promise<GivenDomain> {
  const { name, originUrl, tags, way, template, error } = given
  if (error !== null || name === null) return given
  const settings: TemplateSettings & { way?: DomainSettings['way'] } = { ...template?.settings }
  if (way !== 'dns') settings.way = way
  const id = await addDomain(client, account, { name, originUrl, proof }, view)
  if (id === null) return { ...given, error: existsText() }
  if (tags.length > 0) await writeTags(client, account, [{ id, tags }])
  if (Object.keys(settings).length > 0) {
    await updateWithin(client, account, name, { settings, author, template: template?.name }, view)
  }
  return given
}

function existsText(): string {
  return publicError(new AppError('domain_exists')).body.error
}

function lineOf({ line, name, error }: GivenDomain, state: 'added' | 'would-add'): ImportLine {
  return { line, custom_domain: name, state: error === null ? state : 'error', error }
}
