import type { Queryable } from '../../db/transaction.ts'
import type { Evidence, IncidentKind } from '../kinds.ts'
import type { Facts } from './facts.ts'
import type { Finding } from './rules.ts'
import type { Action } from './watch.ts'

/** What to try first, and the screen that shows more. */
const FIRST_AID: Record<IncidentKind, { advice: string; screen: string }> = {
  origin_unreachable: {
    advice:
      'Open the origin URL yourself. Check that the server runs and that its firewall lets Prepaint in.',
    screen: '/renders',
  },
  renders_failing: {
    advice:
      'Open one of the example pages in a browser, and its render in the dashboard: it names the failed requests.',
    screen: '/renders',
  },
  blocked: {
    advice:
      'Allow the user agent "Prepaint" or the addresses of your nodes in the bot protection of the site.',
    screen: '/renders',
  },
  pages_shrinking: {
    advice:
      'Compare an example page with its last good copy in the dashboard. Often an API behind the site fails.',
    screen: '/renders',
  },
  certificate_failing: {
    advice: 'Check that the name still leads here and that its CAA records allow the certificate authority.',
    screen: '/settings',
  },
  dns_lost: {
    advice: 'Compare the DNS records of the name with those that the dashboard shows.',
    screen: '',
  },
  quota_forecast: {
    advice:
      'Lengthen fresh_seconds, ignore query parameters that do not change pages, or choose a larger plan.',
    screen: '/traffic',
  },
  quota_reached: {
    advice:
      'Lengthen fresh_seconds, ignore query parameters that do not change pages, or choose a larger plan.',
    screen: '/traffic',
  },
  crawlers_gone: {
    advice: 'Check robots.txt, and the reports of the search engines for this site.',
    screen: '/traffic',
  },
}

/** Writes one action of an evaluation with its event. The caller has locked the domain's memory. */
export async function writeAction(
  client: Queryable,
  { domain, nowMs }: Facts,
  action: Action,
  publicUrl: string | null,
): Promise<void> {
  if (action.do === 'resolve') {
    await client.query('select resolve_incident($1, $2)', [action.id, action.resolution])
    return
  }
  const { kind, finding } = action
  const url = `${publicUrl ?? ''}/domains/${domain.name}${FIRST_AID[kind].screen}`
  const sinceMs = action.do === 'open' ? action.sinceMs : nowMs
  const evidence = evidenceOf(finding, kind, url, await changesBefore(client, domain.id, sinceMs))
  if (action.do === 'update') {
    await client.query(
      `with changed as (update incident set summary = $2, evidence = $3 where id = $1 and state = 'open' returning id)
       select id from changed`,
      [action.id, finding.summary, JSON.stringify(evidence)],
    )
    await client.query(`select record_incident($1, 'incident.updated', $2)`, [
      action.id,
      `incident ${action.id} level ${finding.level}`,
    ])
    return
  }
  const { rows } = await client.query<{ id: number }>(
    `insert into incident (account_id, domain_id, kind, since, summary, evidence)
     select account_id, id, $2, $3, $4, $5 from domain where id = $1 and is_active
     on conflict (domain_id, kind) where state = 'open' do nothing returning id`,
    [domain.id, kind, new Date(sinceMs), finding.summary, JSON.stringify(evidence)],
  )
  const id = rows[0]?.id
  if (id !== undefined) {
    await client.query(`select record_incident($1, 'incident.opened', $2)`, [id, `incident ${id} opened`])
  }
}

function evidenceOf(
  finding: Finding,
  kind: IncidentKind,
  url: string,
  changes: Evidence['changes'],
): Evidence {
  const pages = finding.pages.map(({ path, outcome, detail, atMs }) => ({
    ...{ path, outcome, detail },
    at: new Date(atMs).toISOString(),
  }))
  const { count, level } = finding
  return { count, pages, changes, level, advice: FIRST_AID[kind].advice, url }
}

/** Of the 24 hours before the problem began, and since. */
async function changesBefore(
  client: Queryable,
  domain: number,
  sinceMs: number,
): Promise<Evidence['changes']> {
  const { rows } = await client.query<{ what: Evidence['changes'][number]['what']; at: string }>(
    `select what, iso_time(at) as at from (
       select 'deploy' as what, unnest(deploys) as at from freshness where domain_id = $1
       union all select 'settings', updated_at from domain where id = $1 and updated_at > created_at
       union all select 'certificate', stored_at from certificate where domain_id = $1
       union all select 'dns', lost_at from health where domain_id = $1) change
      where at > $2::timestamptz - interval '24 hours' order by at desc limit 10`,
    [domain, new Date(sinceMs)],
  )
  return rows
}
