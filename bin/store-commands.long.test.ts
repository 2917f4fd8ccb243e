import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import type { WarmProgress } from '../src/queue/warm/warm-progress.ts'
import { runJson, runPrepaint } from '../test/support/command-line.ts'
import { until } from '../test/support/condition.ts'
import { openTestDatabase } from '../test/support/database.ts'
import { openFolder } from '../test/support/folder.ts'
import { runCommandLine } from './command-line/run.ts'

const database = await openTestDatabase({ empty: true })
const folder = openFolder()
describe('commands on accounts, keys, tokens and domains', () => {
  const settings = {
    DATABASE_URL: database.url,
    PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.1/32:4000',
    PREPAINT_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  }
  const file = (name: string, text: string) => {
    writeFileSync(path.join(folder, name), text)
    return path.join(folder, name)
  }

  const json = (args: string, stdin?: string) => runJson(args.split(' '), settings, stdin)
  const good = async (args: string, stdin?: string) => {
    const { code, json: body } = await json(args, stdin)
    assert.equal(code, 0, JSON.stringify(body))
    return body
  }
  /** In this process: a process of its own costs a quarter of a second, and there are many ways to be wrong. */
  const refused = async (args: string, words: RegExp, exitCode = 1) => {
    const result = await runCommandLine([...args.split(' '), '--json'], settings)
    assert.deepEqual(Object.keys(result?.json ?? {}), ['error'])
    assert.match(String(result?.json['error']), words)
    assert.equal(result?.exitCode, exitCode)
  }

  const printed = async (args: string) => (await runCommandLine(args.split(' '), settings))?.text ?? ''

  const warmed = async (options: string) => {
    const args = `cache warm --domain shop.example ${options} --json`
    return (await runCommandLine(args.split(' '), settings))?.json['warm'] as WarmProgress
  }

  it('migrates an empty database, once', async () => {
    const { applied } = (await good('migrate')) as { applied: string[] }
    assert.equal(applied[0], '0001-schema.sql')
    assert.deepEqual(await good('migrate'), { applied: [] })
  })

  it('adds, lists, tests and removes event endpoints; lists incidents', async () => {
    await good('account create --email hooks@example.com --plan agency_plus')
    const url = 'http://127.0.0.1:4000/hook'
    const added = await good(`endpoint add --email hooks@example.com --url ${url} --events domain.live`)
    assert.deepEqual(Object.keys(added), ['id', 'url', 'secret'])
    assert.match(String(added['secret']), /^whsec_/)
    const list = JSON.stringify(await good('endpoint list --email hooks@example.com'))
    assert.match(list, /"events":\["domain\.live"\]/)
    assert.doesNotMatch(list, /whsec_/)
    assert.match(JSON.stringify(await good(`endpoint test --id ${added['id']}`)), /"state":"waiting"/)
    await refused(
      'endpoint add --email hooks@example.com --url http://127.0.0.1:4001/',
      /^Invalid endpoint URL: /,
    )
    assert.deepEqual((await good(`endpoint remove --id ${added['id']}`))['deleted'], { id: added['id'], url })
    assert.deepEqual(await good('incidents --open'), { incidents: [] })
    await database.pool.query(`delete from account where email = 'hooks@example.com'`)
  })

  it('creates accounts, lists them, changes their plan', async () => {
    const created = await good('account create --email Owner@Example.com --plan pro')
    assert.deepEqual(Object.keys(created), ['id', 'email', 'plan', 'role', 'created_at'])
    await good('account create --email second@example.com --plan pro --password-stdin', 'a long password\n')
    const { rows } = await database.pool.query(
      'select password_hash is not null as hashed from account order by id',
    )
    assert.deepEqual(rows, [{ hashed: false }, { hashed: true }])
    await refused('account create --email owner@example.com --plan pro', /Account already exists/)
    const changed = await good('account set-plan --email owner@example.com --plan agency_plus')
    assert.equal(changed['plan'], 'agency_plus')
    const { accounts } = (await good('account list')) as { accounts: { email: string; plan: string }[] }
    const listed = accounts.map(({ email, plan }) => `${email} ${plan}`)
    assert.deepEqual(listed, ['owner@example.com agency_plus', 'second@example.com pro'])
  })

  // Proves interface 5/5
  it('shows a key once, lists it without, revokes it', async () => {
    const created = await good('key create --email owner@example.com --name ci --expires 2999-01-31')
    assert.deepEqual(Object.keys(created), ['id', 'name', 'key'])
    assert.match(String(created['key']), /^pp_live_[\w-]{32,}$/)
    const list = await good('key list --email owner@example.com')
    assert.doesNotMatch(JSON.stringify(list), new RegExp(String(created['key'])))
    const [key] = list['keys'] as { id: number; state: string; expires_at: string }[]
    assert.equal(key?.state, 'active')
    assert.equal(key?.expires_at, '2999-01-31T00:00:00.000Z')

    assert.deepEqual(await good(`key revoke --id ${created['id']}`), { revoked: created['id'] })
    const { stdout } = await runPrepaint(['key', 'list', '--email', 'owner@example.com'], settings)
    assert.match(stdout, /^id {2}name .*\n +1 {2}ci .* revoked /)
  })

  it('registers a domain, shows and changes it; shows its webhook token once', async () => {
    const add = 'domain add --email owner@example.com --domain Shop.Example --origin'
    await refused(`${add} http://127.0.0.1:4001`, /Invalid origin URL: /)
    const { domain } = (await good(`${add} http://127.0.0.1:4000`)) as { domain: Record<string, unknown> }
    assert.equal(domain['custom_domain'], 'shop.example')
    const set = 'domain set --domain shop.example'
    await good(`${set} --settings {"settings":{"fresh_seconds":50}}`)
    await good(`${set} --active no --settings {"fresh_seconds":60}`)
    const shown = (await good('domain show --domain shop.example'))['domain']
    assert.partialDeepStrictEqual(shown, { is_active: false, settings: { fresh_seconds: 60 } })
    const { id, token } = await good('token create --domain shop.example --name deploy')
    assert.match(String(token), /^pp_wh_[\w-]{32,}$/)
    await good(`token revoke --id ${id}`)
    const list = JSON.stringify(await good('token list --domain shop.example'))
    assert(list.includes('"state":"revoked"') && !list.includes(String(token)))

    const { domains } = (await good('domain list')) as { domains: { email: string }[] }
    assert.equal(domains[0]?.email, 'owner@example.com')
    assert.deepEqual(await good('domain list --email second@example.com'), { domains: [] })
  })

  it('replaces and lists redirects, from JSON and CSV; names each bad line', async () => {
    const at = '--domain shop.example'
    const csv = file('list.csv', 'status,from,to\n,/old,/new\n410,/gone,\n')
    const unused = { hits: 0, last_used_at: null, external: false, shadows_page: false }
    const redirects = [
      { from: '/old', to: '/new', status: 301, ...unused },
      { from: '/gone', to: null, status: 410, ...unused },
    ]
    assert.deepEqual(await good(`redirect set ${at} --file ${csv}`), { domain: 'shop.example', redirects })
    assert.equal(await printed(`redirect list ${at} --csv`), 'from,to,status\r\n/old,/new,301\r\n/gone,,410')
    const bad = file('bad', 'from,to\n/a,/b\nb,/c\n/d,//e\n')
    await refused(`redirect set ${at} --file ${bad} --csv`, /^Line 3: .*\nLine 4: /)
    await refused(`redirect set ${at} --file ${bad}`, /^--file is not JSON: /, 2)
    assert.deepEqual(await good(`redirect list ${at}`), { domain: 'shop.example', redirects })
    assert.deepEqual((await good(`redirect set ${at} --file -`, '[]'))['redirects'], [])
  })

  it('sets, shows and tests robots.txt; lists its versions and restores one', async () => {
    const at = '--domain shop.example'
    const first = 'User-agent: GPTBot\nDisallow: /\n'
    await good(`robots set ${at} --mode replace --file -`, first)
    const shown = { domain: 'shop.example', mode: 'replace', origin: null, text: first, served: first }
    assert.deepEqual(await good(`robots show ${at}`), shown)
    const forbidden = { allowed: false, line: 2, rule: 'Disallow: /' }
    assert.deepEqual(await good(`robots test ${at} --path /a --crawler GPTBot`), forbidden)
    assert.equal(await printed(`robots test ${at} --path /a --crawler Bingbot`), 'Allowed (no rule matches)')
    const headless = `--file ${file('headless.txt', 'Disallow: /x')}`
    await refused(
      `robots set ${at} --mode append ${headless}`,
      /must begin with a User-agent or Sitemap line/,
      2,
    )
    const robots = `--file ${file('robots.txt', 'User-agent: *\nDisallow: /x')}`
    await good(`robots set ${at} --mode replace ${robots}`)
    const { versions } = await good(`version list ${at} --kind robots`)
    const [, older] = versions as { id: string; author: string }[]
    assert.equal(older!.author, 'command line')
    await good(`version restore ${at} --id ${older!.id}`)
    assert.equal((await good(`robots show ${at}`))['text'], first)
  })

  it('replaces, shows and tries rules; compares devices', async () => {
    const at = '--domain shop.example'
    const rules = [
      { path: '/a*', render: { wait_for: '#a' } },
      { path: '/ab', fresh_seconds: 60 },
    ]
    const set = await good(`rules set ${at} --file -`, JSON.stringify(rules))
    assert.deepEqual(set['warnings'], [{ rule: 1, covered_by: 0 }])
    assert.deepEqual(JSON.parse(await printed(`rules show ${at}`))[0].render, { wait_for: '#a' })

    const { pool } = database
    const tries = `rules try ${at} --file - --path /a --path /a`.split(' ')
    const tried = runPrepaint(tries, settings, '[]')
    const differences = [{ of: 'outcome', before: 'rendered', after: 'incomplete: no element matches #a' }]
    const result = JSON.stringify({ outcome: 'incomplete', ms: 5, differences })
    const isChanged = async (sql: string, values: string[] = []) =>
      (await pool.query(sql, values)).rowCount === 1
    await until('it is rendered', () => isChanged('update rule_try set result = $1', [result]))
    const { code, stdout } = await tried
    assert.equal(code, 0)
    assert.match(stdout, /^\/a +search +1 -> none +incomplete +5 ms +outcome: incomplete: no element/m)

    await refused(`devices check ${at} --path /a`, /Domain is not active/)
    await good(`domain set ${at} --active yes`)
    const compared = json(`devices check ${at} --path /a`)
    const ends = `update device_page set is_open = false, checked_at = now(), differences = '{text}'`
    await until('the pages are compared', () => isChanged(ends))
    const { pages } = (await compared).json as { pages: { path: string; differences: string[] }[] }
    assert.deepEqual([pages[0]?.path, pages[0]?.differences], ['/a', ['text']])

    await refused(`devices check ${at}${' --path /a'.repeat(11)}`, /^--path can be given 10 times$/, 2)
    const { json: bad } = await json(`rules set ${at} --file -`, '[{"path":"/","action":"fly"}]')
    assert.match(String(bad['error']), /^--file: rules\[0\]\.action /)
    await good(`rules set ${at} --file -`, '[]')
    await good(`domain set ${at} --active no`)
    await pool.query('delete from job')
  })

  it('sets, lists and removes headers for the origin, and never shows a value', async () => {
    const at = '--domain shop.example'
    const secret = 'open-sesame-1234'
    const shown = [
      JSON.stringify(await good(`origin-header set ${at} --name X-Secret --value-stdin`, secret)),
      JSON.stringify(await good(`origin-header set ${at} --name x-secret --value-stdin --all`, secret)),
      await printed(`origin-header list ${at}`),
    ]
    assert(shown.every((text) => !text.includes(secret)))
    assert.match(shown[1]!, /"warnings":\[\{/)
    assert.match(shown[2]!, /^x-secret +all$/m)
    const { json: bad, code } = await json(`origin-header set ${at} --name Cookie --value-stdin`, 'a=1')
    assert.deepEqual([code, bad], [2, { error: 'origin_headers[1].name must not be set by an owner' }])
    await good(`origin-header remove ${at} --name X-SECRET`)
    assert.equal(await printed(`origin-header list ${at}`), 'No headers for the origin.')
  })

  it('refreshes pages, warms, shows the queue, and waits for it when asked to', async () => {
    await refused('cache refresh --domain shop.example', /Domain is not active/)
    await good('domain set --domain shop.example --active yes')
    const refreshed = await good('cache refresh --domain shop.example --path /b?y=2&x=1 --path /a')
    const paths = (refreshed['jobs'] as { path: string }[]).map(({ path }) => path)
    assert.deepEqual(paths, ['/b?x=1&y=2', '/a'])
    const listed = await good('jobs --domain shop.example --state queued --limit 1')
    assert.deepEqual(listed['counts'], { queued: 2, running: 0, done: 0, failed: 0, cancelled: 0 })
    assert.deepEqual([(listed['jobs'] as unknown[]).length, listed['all_counted']], [1, true])

    assert.deepEqual(await good('cache warm --domain shop.example'), { domain: 'shop.example' })
    await refused('cache warm --domain shop.example --resume', /No warm of shop\.example is paused/)
    assert.notEqual((await warmed('--pause')).paused_at, null)
    await warmed('--resume')
    await warmed('--outdated')
    assert.equal((await warmed('--status')).which, 'outdated')
    const watched = warmed('--status --wait')
    await warmed('--cancel')
    assert.equal((await watched).state, 'cancelled')
    const waiting = good('cache refresh --domain shop.example --path /a --wait')
    // In the place of a node: it ends the jobs.
    await until('the refresh is watched', async () => {
      const { rowCount } = await database.pool.query(
        `update job set state = 'done', outcome = 'rendered', finished_at = clock_timestamp()
          where state = 'queued' and exists (select from pg_stat_activity
            where datname = current_database() and query like '%as warming%' and pid <> pg_backend_pid())`,
      )
      return (rowCount ?? 0) > 0
    })
    const waited = await waiting
    assert.deepEqual([waited['ended'], waited['stalled']], [2, false])
  })

  const DOMAIN = '--domain shop.example'
  const SETTINGS = `domain set ${DOMAIN} --settings`
  const ENDPOINT = 'endpoint add --email owner@example.com --url http://127.0.0.1:4000/'
  const KEY = 'key create --email owner@example.com --name ci'
  const WRONG: [args: string, words: RegExp][] = [
    [`${ENDPOINT} --events x`, /^--events must be one of/],
    ['account create --email x@b.example --plan pro --password long-one --password-stdin', /not both/],
    [`${KEY} --expires 2999-02-30`, /--expires/],
    ['key revoke --id 1x', /--id must be a whole number/],
    ['domain show --domain 127.0.0.1', /--domain must be a name/],
    [`domain set ${DOMAIN}`, /Nothing to change/],
    [`${SETTINGS} {"fresh_seconds":-1}`, /--settings: fresh_seconds must be at least 0/],
    [`${SETTINGS} []`, /--settings: JSON must be an object/],
    [`redirect set ${DOMAIN} --file /none`, /^--file cannot be read: /],
    [`version list ${DOMAIN} --kind other`, /^--kind must be one of robots, /],
    [`devices check ${DOMAIN} --path //x`, /^--path must be the path of a page, got "\/\/x"$/],
    [`origin-header remove ${DOMAIN} --name X-Secret`, /has no header X-Secret/],
    [`cache refresh ${DOMAIN} --path a`, /--path must be a path/],
    ['jobs --limit 0', /--limit must be a whole number in 1\.\.10000/],
    [`cache warm ${DOMAIN} --pause --cancel`, /--pause and --cancel/],
    [`cache purge ${DOMAIN} --path b`, /--path must be a path that begins with \//],
  ]
  for (const [args, words] of WRONG) it(`ends with 2: ${args}`, () => refused(args, words, 2))

  it('lists and purges stored pages, removes the domain', async () => {
    await database.pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select id, path, 200, '[]', '\\x00', 1, 'e', now()
       from domain, unnest(array['/', '/a/1', '/a/2', '/b']) as path`,
    )
    const { pages, cachedPages } = await good('cache list --domain shop.example')
    assert.equal(cachedPages, 4)
    assert.deepEqual((pages as object[])[1], { path: '/a/1', cacheKey: 'render:shop.example:/a/1' })

    const purged = async (path: string) =>
      (await good(`cache purge --domain shop.example${path}`))['keysDeleted']
    assert.equal(await purged(' --path /b?utm_source=mail'), 1)
    assert.equal(await purged(' --path /a/*'), 2)
    assert.equal(await purged(''), 1)
    const text = await printed('cache purge --domain shop.example --path /b')
    assert.match(text, /No page is stored as \/b\. \/b\/ is another page\./)

    const { deleted } = await good('domain remove --domain shop.example')
    assert.equal((deleted as { custom_domain: string }).custom_domain, 'shop.example')
  })
})

it('commands refuse to create a database, except where that is their purpose', async () => {
  const dataDir = path.join(folder, 'data')
  for (const args of ['jobs', 'nodes', 'account list', 'cache purge --domain a.example', 'backup file']) {
    const result = await runCommandLine(args.split(' '), { PREPAINT_DATA_DIR: dataDir })
    assert.match(
      String(result?.json['error']),
      /^There is no database in .*\/data\. Run the command in/,
      args,
    )
    assert.equal(result?.exitCode, 1)
  }
  assert.equal(existsSync(dataDir), false)
})
