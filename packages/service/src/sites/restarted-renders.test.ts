/** A change wins over a render that began before it: the real queue, and renders whose result comes after the change. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DomainId, type DomainName, wholeAccount } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { listVersions } from '@prepaint/pages/site-files/versions.ts'
import { until } from '../../../../test/support/condition.ts'
import { openQueue, RENDERED } from '../../../../test/support/queue.ts'
import { updateDomain, updateWithNotes } from './domain-changes.ts'
import { findOwnedDomain } from './domains.ts'
import { restoreVersion } from './restore-version.ts'

const VIEW = { plans: DEFAULT_PLANS, nowMs: Date.parse('2026-11-15T12:30:00.000Z') }
const RULES = [{ path: '/*', change: { head: { title: 'New' } } }]

const queue = await openQueue()

async function owned(domain: DomainId) {
  const [name] = await queue.column<DomainName>('select custom_domain from domain where id = $1', domain)
  return { account: await queue.accountOf(domain), name: name! }
}

type Change = Parameters<typeof updateDomain>[3]

async function change(domain: DomainId, changed: Change): Promise<void> {
  const { account, name } = await owned(domain)
  await updateDomain(queue.pool, account, name, changed, VIEW)
}

describe('a render that began before a change', () => {
  const changes: Record<string, Change> = {
    'of the rules': { settings: { rules: RULES } as Change['settings'] },
    'of the visitor': { settings: { render: { locale: 'de-CH' } } },
    'of what the query means': { settings: { query: 'ignore' } },
    "of what the origin's Cache-Control means": { settings: { origin_cache_control: 'respect' } },
    'of soft_404': { settings: { soft_404: 'store' } },
    'of the headers for the origin': { settings: { origin_headers: [] } },
    'of the origin': { originUrl: 'https://new.example.com' },
  }
  for (const [what, changed] of Object.entries(changes)) {
    // Proves decided "Changes win over running renders"
    it(`${what} stores nothing and runs again; renders of other domains go on`, async () => {
      const domain = await queue.domain()
      const other = await queue.domain()
      const job = await queue.running(domain)
      const otherJob = await queue.running(other)
      await change(domain, changed)
      assert.equal((await queue.complete(job, RENDERED)).state, 'queued')
      assert.deepEqual(await queue.stored(domain), [])
      assert.equal((await queue.complete(otherJob, RENDERED)).state, 'done')
      const [again] = await queue.claim()
      assert.equal((await queue.complete(again!, RENDERED)).state, 'done')
    })
  }

  it('that renders do not see goes on', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain)
    await change(domain, { settings: { markdown: 'off', fresh_seconds: 60, query: 'keep' } })
    assert.equal((await queue.complete(job, RENDERED)).state, 'done')
  })

  it('and is refused afterwards is not remembered as refused', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain)
    await change(domain, { settings: { rules: RULES } as Change['settings'] })
    await queue.complete(job, { kind: 'blank' })
    assert.deepEqual(await queue.column('select path from refused_page'), [])
  })

  it('of the rules with ?refresh=true does not make its page fresh', async () => {
    const domain = await queue.domain()
    await queue.store(domain, ['/'])
    const job = await queue.running(domain)
    const { account, name } = await owned(domain)
    const changed = { settings: { rules: RULES } as Change['settings'], refreshes: true }
    const told = await updateWithNotes(queue.pool, account, name, changed, VIEW)
    assert.equal(told.outdated_pages, 1)
    assert.equal((await queue.complete(job, RENDERED)).state, 'queued')
    const isStale = 'select stale_since is not null from page where domain_id = $1'
    assert.deepEqual(await queue.column(isStale, domain), [true])
  })

  it('by a version of the rules that is restored stores nothing and runs again', async () => {
    const domain = await queue.domain()
    for (const rules of [RULES, []]) await change(domain, { settings: { rules } as Change['settings'] })
    const [, first] = await listVersions(queue.pool, domain, 'rules')
    const job = await queue.running(domain)
    const { account, name } = await owned(domain)
    const found = await findOwnedDomain(queue.pool, wholeAccount(account), name)
    const by = { domain: { ...found!, account }, author: 'owner' }
    await restoreVersion(queue.pool, by, first!.id, VIEW)
    assert.equal((await queue.complete(job, RENDERED)).state, 'queued')
  })

  it('is found, too, while it is being claimed', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain)
    await queue.pool.query(`update job set state = 'queued' where id = $1`, [job.id])
    const claiming = await queue.pool.connect()
    // A claim holds this lock from before it reads the settings until its commit.
    await claiming.query(`begin; select pg_advisory_xact_lock_shared(7228, ${domain})`)
    await claiming.query(`update job set state = 'running' where id = $1`, [job.id])
    const changing = change(domain, { settings: { rules: RULES } as Change['settings'] })
    const waiting = `select 1 from pg_locks where locktype = 'advisory' and classid = 7228 and objid = ${domain} and not granted
      and database = (select oid from pg_database where datname = current_database())`
    await until('the change waits for the claim', async () => (await queue.column(waiting)).length === 1)
    await claiming.query('commit')
    claiming.release()
    await changing
    assert.deepEqual(await queue.column('select superseded from job where id = $1', job.id), [true])
  })
})
