import { type AccountId, type Scope, wholeAccount } from '@prepaint/contract/ids.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { newestContent } from '@prepaint/pages/site-files/versions.ts'
import { allEntries } from '@prepaint/postgres/audit'
import { Rate } from '@prepaint/postgres/rates'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { listIncidents } from '../notifications/incidents/incidents.ts'
import { findDomain, listDomains } from '../sites/domains.ts'
import { listKeys, listTokens } from './keys.ts'
import { listMembers } from './members.ts'
import { readAccount } from './own-account.ts'

export const EXPORT_RATE = new Rate({ what: 'account export', most: 1, withinMs: 60_000, window: 'fixed' })

type Line = { kind: string } & Record<string, unknown>

const INCIDENTS_AT_ONCE = 100

/** Reads everything of an account but pages and secrets, a line for each thing. */
export async function* exportAccount(
  db: Queryable,
  account: AccountId,
  { plans, nowMs }: { plans: PlanCatalogue; nowMs: number },
): AsyncGenerator<Line, void> {
  const scope = wholeAccount(account)
  yield { kind: 'account', ...(await readAccount(db, account)) }
  for (const member of await listMembers(db, scope, { member: null, role: 'owner' })) {
    yield { kind: 'member', ...member }
  }
  for (const { custom_domain: name, id } of await listDomains(db, scope, { plans, nowMs })) {
    const domain = await findDomain(db, scope, name, { plans, nowMs })
    // It was deleted meanwhile.
    if (domain === null) continue
    yield { kind: 'domain', ...domain }
    for (const redirect of ((await newestContent(db, id, 'redirects')) ?? []) as object[]) {
      yield { kind: 'redirect', domain: name, ...redirect }
    }
    const robots = await newestContent(db, id, 'robots')
    if (robots !== null) yield { kind: 'robots', domain: name, ...(robots as object) }
    for (const token of await listTokens(db, account, name)) yield { kind: 'token', domain: name, ...token }
  }
  for (const key of await listKeys(db, account, nowMs)) yield { kind: 'key', ...key }
  yield* exportIncidents(db, scope)
  yield* exportTraffic(db, account)
  for await (const entries of allEntries(db, account, {})) {
    for (const entry of entries) yield { kind: 'audit', ...entry }
  }
}

async function* exportIncidents(db: Queryable, scope: Scope): AsyncGenerator<Line, void> {
  let after: number | undefined
  do {
    const { incidents, next } = await listIncidents(db, scope, { limit: INCIDENTS_AT_ONCE, after })
    // `kind` names the line; that of the incident goes on as `incident`.
    for (const { kind, ...incident } of incidents) yield { ...incident, incident: kind, kind: 'incident' }
    after = next ?? undefined
  } while (after !== undefined)
}

/** By day and domain, so that memory is bounded. */
async function* exportTraffic(db: Queryable, account: AccountId): AsyncGenerator<Line, void> {
  const { rows: domains } = await db.query<{ id: number; name: string }>(
    'select id, custom_domain as name from domain where account_id = $1 order by custom_domain',
    [account],
  )
  for (const { id, name } of domains) {
    const { rows } = await db.query<Record<string, unknown>>(
      `select day::text, category, crawler, verdict, sum(visits)::float8 as visits
         from traffic_by_day where domain_id = $1 group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
      [id],
    )
    for (const row of rows) yield { kind: 'traffic', domain: name, ...row }
  }
}
