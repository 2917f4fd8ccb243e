import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '@prepaint/contract/errors.ts'
import { type AccountId, type DomainName, type PagePath, wholeAccount } from '@prepaint/contract/ids.ts'
import { normalisePath, type QueryRule } from '@prepaint/contract/page/path.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { checkOriginUrl, createAddressGuard } from '@prepaint/outbound'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { type Account, findAccountById, findAccountsByEmail } from '@prepaint/service/accounts/accounts.ts'
import { ownerOfDomain } from '@prepaint/service/accounts/keys.ts'
import {
  type DomainWithSettings,
  findDomain,
  findOwnedDomain,
  type OwnedDomain,
} from '@prepaint/service/sites/domains.ts'
import type pg from 'pg'
import type { Config } from '../settings/config.ts'
import { CommandError, type Surroundings, UsageError } from './command.ts'
import { type OpenStore, withDatabase } from './open-database.ts'

export const DOMAIN_OPTION = { value: 'D', text: 'the domain', required: true } as const

/** Which account a command is about: give one of them. */
export const ACCOUNT_OPTIONS = {
  email: { value: 'E', text: 'the account with this contact address' },
  account: { value: 'ID', text: 'the account with this id, where several have one address' },
} as const

/** The author of changes that commands make, in place of an e-mail address. */
export const COMMAND_LINE = 'command line'

export const PERSON_OPTION = { value: 'M', text: 'the e-mail address of the person', required: true } as const

export function parseDomainOption(raw: string): DomainName {
  const parsed = parseDomainName(raw)
  if (parsed.ok) return parsed.name
  throw new UsageError(`--domain ${parsed.reason}, got "${raw}"`)
}

/** Maximum of PostgreSQL's integer. */
const LARGEST_ID = 2_147_483_647

export function parseIdOption(raw: string, option = 'id'): number {
  const id = Number(raw)
  if (/^\d+$/.test(raw) && id <= LARGEST_ID) return id
  throw new UsageError(`--${option} must be a whole number, got "${raw}"`)
}

/** `2027-01-31` (midnight UTC), or with time and zone: `2027-01-31T12:00:00Z`. */
export function parseTimeOption(option: string, raw: string): Date {
  const iso = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/
  const time = new Date(raw)
  // Date turns 2027-02-30 into a day of March.
  const exists =
    !Number.isNaN(time.getTime()) &&
    new Date(`${raw.slice(0, 10)}T00:00:00Z`).toISOString().startsWith(raw.slice(0, 10))
  if (iso.test(raw) && exists) return time
  throw new UsageError(`--${option} must be a time such as 2027-01-31 or 2027-01-31T12:00:00Z, got "${raw}"`)
}

/** Throws UsageError if none or several are meant, and `account_not_found`. */
export async function accountNamed(
  db: Queryable,
  { email, account }: { email: string | null; account: string | null },
): Promise<Account> {
  if (account !== null) return findAccountById(db, parseIdOption(account, 'account') as AccountId)
  if (email === null) throw new UsageError('Missing --email E')
  const [found, ...others] = await findAccountsByEmail(db, email)
  if (found === undefined) throw new AppError('account_not_found')
  if (others.length === 0) return found
  const ids = [found, ...others].map(({ id, name }) => `${id} (${name})`).join(', ')
  throw new UsageError(`Several accounts have the address ${email}: give --account with one of ${ids}`)
}

export function parseYesNoOption(option: string, raw: string): boolean {
  if (raw === 'yes' || raw === 'no') return raw === 'yes'
  throw new UsageError(`--${option} must be yes or no, got "${raw}"`)
}

export function parseCountOption(option: string, raw: string, limit: number): number {
  const count = Number(raw)
  if (/^\d+$/.test(raw) && count >= 1 && count <= limit) return count
  throw new UsageError(`--${option} must be a whole number in 1..${limit}, got "${raw}"`)
}

export function parseChoiceOption<const C extends string>(
  option: string,
  raw: string,
  choices: readonly C[],
): C {
  const choice = choices.find((each) => each === raw)
  if (choice !== undefined) return choice
  throw new UsageError(`--${option} must be one of ${choices.join(', ')}, got "${raw}"`)
}

export function parseJsonOption(option: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UsageError(`--${option} is not JSON: ${(error as Error).message}`)
  }
}

/** Reads a file, or standard input if its name is `-`. */
export async function readFileOption(file: string): Promise<string> {
  if (file === '-') return text(process.stdin)
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`--file cannot be read: ${(error as Error).message}`)
  }
}

const DNS_TIMEOUT_MS = 5_000

export async function parseOriginOption(raw: string, config: Config): Promise<string> {
  const guard = createAddressGuard(config.allowedPrivateOrigins)
  const check = await checkOriginUrl(raw, guard, { timeoutMs: DNS_TIMEOUT_MS })
  if (!check.ok) throw new AppError('invalid_origin', { word: check.reason })
  return check.originUrl
}

type NamedDomain = OwnedDomain & { account: AccountId }

/** Any account's domain: the operator acts for its owner. Throws `domain_not_found`. */
export async function domainNamed(pool: pg.Pool, name: DomainName): Promise<NamedDomain> {
  const account = await ownerOfDomain(pool, name)
  const domain = await findOwnedDomain(pool, wholeAccount(account), name)
  if (domain === null) throw new AppError('domain_not_found')
  return { ...domain, account }
}

/** Runs `work` on the domain of `--domain`. */
export async function withDomain<T>(
  raw: string,
  around: Surroundings,
  work: (domain: NamedDomain, store: OpenStore) => Promise<T>,
): Promise<T> {
  const name = parseDomainOption(raw)
  return withDatabase(around, async (store) => work(await domainNamed(store.pool, name), store))
}

/** Returns a domain as the API shows it. Throws `domain_not_found`. */
export async function shownDomain(
  { pool, nowMs }: OpenStore,
  name: DomainName,
  { plans }: Pick<Config, 'plans'>,
): Promise<DomainWithSettings> {
  const domain = await findDomain(pool, wholeAccount(await ownerOfDomain(pool, name)), name, { plans, nowMs })
  if (domain === null) throw new AppError('domain_not_found')
  return domain
}

/** The values of `--path`, each once. */
export function parsePathOptions(raw: readonly string[], most: number, query: QueryRule): PagePath[] {
  if (raw.length > most) throw new UsageError(`--path can be given ${most} times`)
  const paths = raw.map((each) => {
    const path = normalisePath(each, query)
    if (path === null) throw new UsageError(`--path must be the path of a page, got "${each}"`)
    return path
  })
  return [...new Set(paths)]
}

const POLL_MS = 500
const WAIT_MS = 600_000

/** Looks until rendering nodes have done it: `what` follows "No rendering node has". */
export async function whenRendered<T>(look: () => Promise<T | null>, what: string): Promise<T> {
  for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += POLL_MS) {
    const found = await look()
    if (found !== null) return found
    await sleep(POLL_MS)
  }
  throw new CommandError(`No rendering node has ${what} within 10 minutes`)
}

export function apiUrl({ publicUrl, api }: Pick<Config, 'publicUrl' | 'api'>): string {
  const host = api.host.includes(':') ? `[${api.host}]` : api.host
  return publicUrl ?? `http://${host}:${api.port}`
}
