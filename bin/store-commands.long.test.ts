import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import type { WarmProgress } from '@prepaint/pages/queue/warm/warm-progress.ts'
import { runJson, runPrepaint } from '../test/support/command-line.ts'
import { testCommands } from '../test/support/commands.ts'
import { until } from '../test/support/condition.ts'
import { makeDataDir, removeDir } from '../test/support/data-dir.ts'
import { openTestDatabase } from '../test/support/database.ts'
import { openFolder } from '../test/support/folder.ts'

const database = await openTestDatabase({ empty: true })
const { pool } = database
const folder = openFolder()
/** For the browser that reads selectors. */
const dataDir = makeDataDir()
after(() => removeDir(dataDir))

describe('commands on accounts, keys, tokens and domains', () => {
  const settings = {
    DATABASE_URL: database.url,
    PREPAINT_DATA_DIR: dataDir,
    PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.1/32:4000',
    PREPAINT_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  }
  const { run, good, printed, refused, wrong } = testCommands(settings)
  const file = (name: string, text: string) => {
    writeFileSync(path.join(folder, name), text)
    return path.join(folder, name)
  }
  /** As a program, which reads `stdin`. */
  const given = async (stdin: string, args: string) => {
    const { code, json } = await runJson(args.split(' '), settings, stdin)
    assert.equal(code, 0, JSON.stringify(json))
    return json
  }
  /** In the place of a node: what a command waits for has happened. */
  const happens = (what: string, sql: string, ...values: string[]) =>
    until(what, async () => (await pool.query(sql, values)).rowCount! > 0)
  const at = '--domain shop.example'

  it('is a program that says what is wrong on stderr', async () => {
    const { code, stdout, stderr } = await runPrepaint(['frobnicate'], settings)
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, /^prepaint: Unknown command "frobnicate"/)
  })

  it('migrates an empty database, once', async () => {
    const { applied } = (await good('migrate')) as { applied: string[] }
    assert.equal(applied[0], '0001-schema.sql')
    assert.deepEqual(await good('migrate'), { applied: [] })
  })

  it('creates accounts, lists them, changes their plan', async () => {
    const created = await good('account create --email Owner@Example.com --plan pro')
    assert.deepEqual(Object.keys(created), ['id', 'name', 'email', 'plan', 'created_at'])
    await given('a long password\n', 'account create --email second@example.com --plan pro --password-stdin')
    const hashed = await database.column('select password_hash is not null from person order by id')
    assert.deepEqual(hashed, [false, true])
    await refused('account create --email owner@example.com --plan pro', /Account already exists/)
    await good('account set-plan --email owner@example.com --plan agency_plus')
    const listed = await printed('account list')
    assert.match(listed, / owner@example\.com +agency_plus .*\n.* second@example\.com +pro /)
  })

  it('adds, lists, tests and removes event endpoints; lists incidents', async () => {
    const url = 'http://127.0.0.1:4000/hook'
    const added = await good(`endpoint add --email owner@example.com --url ${url} --events domain.live`)
    assert.deepEqual(Object.keys(added), ['id', 'url', 'secret'])
    assert.match(String(added['secret']), /^whsec_/)
    const list = JSON.stringify(await good('endpoint list --email owner@example.com'))
    assert.match(list, /"events":\["domain\.live"\]/)
    assert.doesNotMatch(list, /whsec_/)
    assert.match(JSON.stringify(await good(`endpoint test --id ${added['id']}`)), /"state":"waiting"/)
    const elsewhere = 'endpoint add --email owner@example.com --url http://127.0.0.1:4001/'
    await refused(elsewhere, /^Invalid endpoint URL: /)
    assert.deepEqual((await good(`endpoint remove --id ${added['id']}`))['deleted'], { id: added['id'], url })
    assert.deepEqual(await good('incidents --open'), { incidents: [] })
  })

  // Proves interface 5/5
  it('shows a key once, lists it without, revokes it', async () => {
    const { id, ...created } = await good(
      'key create --email owner@example.com --name ci --expires 2999-01-31',
    )
    assert.deepEqual(Object.keys(created), ['name', 'key', 'rights', 'domains'])
    assert.match(String(created['key']), /^pp_live_[\w-]{32,}$/)
    const list = JSON.stringify(await good('key list --email owner@example.com'))
    assert.match(list, /"state":"active".*"expires_at":"2999-01-31T00:00:00\.000Z"/)
    assert(!list.includes(String(created['key'])))

    assert.deepEqual(await good(`key revoke --id ${id}`), { revoked: id })
    const { stdout } = await runPrepaint(['key', 'list', '--email', 'owner@example.com'], settings)
    assert.match(stdout, /^id {2}name .*\n +1 {2}ci .* revoked /)
  })

  it('registers a domain, shows and changes it; shows its webhook token once', async () => {
    const add = 'domain add --email owner@example.com --domain Shop.Example --origin'
    await refused(`${add} http://127.0.0.1:4001`, /Invalid origin URL: /)
    await good(`${add} http://127.0.0.1:4000`)
    await good(`domain set ${at} --settings {"settings":{"fresh_seconds":50}}`)
    await good(`domain set ${at} --active no --settings {"fresh_seconds":60}`)
    const shown = (await good(`domain show ${at}`))['domain']
    assert.partialDeepStrictEqual(shown, { is_active: false, settings: { fresh_seconds: 60 } })
    const { id, token } = await good(`token create ${at} --name deploy`)
    assert.match(String(token), /^pp_wh_[\w-]{32,}$/)
    await good(`token revoke --id ${id}`)
    const list = JSON.stringify(await good(`token list ${at}`))
    assert(list.includes('"state":"revoked"') && !list.includes(String(token)))

    assert.match(JSON.stringify(await good('domain list')), /"email":"owner@example\.com"/)
    assert.deepEqual(await good('domain list --email second@example.com'), { domains: [] })
  })

  it('replaces and lists redirects, from JSON and CSV; names each bad line', async () => {
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
    await wrong(`redirect set ${at} --file ${bad}`, /^--file is not JSON: /)
    assert.deepEqual(await good(`redirect list ${at}`), { domain: 'shop.example', redirects })
    assert.deepEqual((await given('[]', `redirect set ${at} --file -`))['redirects'], [])
  })

  it('sets, shows and tests robots.txt; lists its versions and restores one', async () => {
    const text = 'User-agent: GPTBot\nDisallow: /\n'
    await good(`robots set ${at} --mode replace --file ${file('first', text)}`)
    const shown = { domain: 'shop.example', mode: 'replace', origin: null, text, served: text }
    assert.deepEqual(await good(`robots show ${at}`), shown)
    const forbidden = { allowed: false, line: 2, rule: 'Disallow: /' }
    assert.deepEqual(await good(`robots test ${at} --path /a --crawler GPTBot`), forbidden)
    assert.equal(await printed(`robots test ${at} --path /a --crawler Bingbot`), 'Allowed (no rule matches)')
    const headless = `robots set ${at} --mode append --file ${file('headless', 'Disallow: /x')}`
    await wrong(headless, /must begin with a User-agent or Sitemap line/)
    await good(`robots set ${at} --mode replace --file ${file('second', 'User-agent: *\nDisallow: /x')}`)
    const { versions } = await good(`version list ${at} --kind robots`)
    const [, older] = versions as { id: string; author: string }[]
    assert.equal(older!.author, 'command line')
    await good(`version restore ${at} --id ${older!.id}`)
    assert.equal((await good(`robots show ${at}`))['text'], text)
  })

  it('replaces, shows and tries rules', async () => {
    const rules = [
      { path: '/a*', render: { wait_for: '#a' } },
      { path: '/ab', fresh_seconds: 60 },
    ]
    const set = await good(`rules set ${at} --file ${file('rules', JSON.stringify(rules))}`)
    assert.deepEqual(set['warnings'], [{ rule: 1, covered_by: 0 }])
    assert.deepEqual(JSON.parse(await printed(`rules show ${at}`))[0].render, { wait_for: '#a' })
    await wrong(
      `rules set ${at} --file ${file('bad', '[{"path":"/","action":"fly"}]')}`,
      /^--file: rules\[0\]\.action /,
    )
    const waiting = (selector: string) =>
      file('waiting', JSON.stringify([{ path: '/', render: { wait_for: selector } }]))
    for (const selector of ['video:playing', ':paused', ':buffering', 'a[x~=y s]']) {
      await wrong(`rules set ${at} --file ${waiting(selector)}`, /^--file: rules\[0\]\.render\.wait_for /)
    }
    const lenient = { rules: [{ path: '/', change: { remove: ['.x:where(.a,)', 'a:-webkit-any-link'] } }] }
    await wrong(
      `domain set ${at} --settings {"rules":[{"path":"/","change":{"remove":["..a"]}}]}`,
      /^--settings: rules\[0\]/,
    )
    await good(`rules set ${at} --file ${file('lenient', JSON.stringify(lenient.rules))}`)
    assert.deepEqual(JSON.parse(await printed(`rules show ${at}`)), lenient.rules)
    await good(`rules set ${at} --file ${file('rules', JSON.stringify(rules))}`)

    const none = file('none', '[]')
    const tried = printed(`rules try ${at} --file ${none} --path /a --path /a`)
    const differences = [{ of: 'outcome', before: 'rendered', after: 'incomplete: no element matches #a' }]
    const result = JSON.stringify({ outcome: 'incomplete', ms: 5, differences })
    await happens('it is rendered', 'update rule_try set result = $1', result)
    assert.match(await tried, /^\/a +search +1 -> none +incomplete +5 ms +outcome: incomplete: no element/m)
    await good(`rules set ${at} --file ${none}`)
  })

  it('compares devices', async () => {
    await refused(`devices check ${at} --path /a`, /Domain is not active/)
    await good(`domain set ${at} --active yes`)
    const compared = printed(`devices check ${at} --path /a`)
    const ends = `with compared as (update device_page set checked_at = now(), differences = '{text}' returning path)
                  update job set state = 'done', finished_at = now() where path in (select path from compared)`
    await happens('the pages are compared', ends)
    assert.match(await compared, /^\/a +text$/m)
    await wrong(`devices check ${at}${' --path /a'.repeat(11)}`, /^--path can be given 10 times$/)
    await good(`domain set ${at} --active no`)
    await pool.query('delete from job; delete from job_ended')
  })

  it('sets, lists and removes headers for the origin, and never shows a value', async () => {
    const secret = 'open-sesame-1234'
    const set = `origin-header set ${at} --value-stdin --name`
    const shown = [
      JSON.stringify(await given(secret, `${set} X-Secret`)),
      JSON.stringify(await given(secret, `${set} x-secret --all`)),
      await printed(`origin-header list ${at}`),
    ]
    assert(shown.every((text) => !text.includes(secret)))
    assert.match(shown[1]!, /"warnings":\[\{/)
    assert.match(shown[2]!, /^x-secret +all$/m)
    const { json, code } = await runJson(`${set} Cookie`.split(' '), settings, 'a=1')
    assert.deepEqual([code, json], [2, { error: 'origin_headers[1].name must not be set by an owner' }])
    await good(`origin-header remove ${at} --name X-SECRET`)
    assert.equal(await printed(`origin-header list ${at}`), 'No headers for the origin.')
  })

  it('refreshes pages, shows the queue, and waits for it when asked to', async () => {
    await refused(`cache refresh ${at}`, /Domain is not active/)
    await good(`domain set ${at} --active yes`)
    const refreshed = await good(`cache refresh ${at} --path /b?y=2&x=1 --path /a`)
    const paths = (refreshed['jobs'] as { path: string }[]).map(({ path }) => path)
    assert.deepEqual(paths, ['/b?x=1&y=2', '/a'])
    const { jobs, counts, all_counted } = await good(`jobs ${at} --state queued --limit 1`)
    assert.deepEqual(counts, { queued: 2, running: 0, done: 0, failed: 0, cancelled: 0 })
    assert.deepEqual([(jobs as unknown[]).length, all_counted], [1, true])
    const waiting = good(`cache refresh ${at} --path /a --wait`)
    await happens(
      'the refresh is watched',
      `update job set state = 'done', outcome = 'rendered', finished_at = clock_timestamp()
        where state = 'queued' and exists (select from pg_stat_activity
          where datname = current_database() and query like '%as warming%' and pid <> pg_backend_pid())`,
    )
    assert.partialDeepStrictEqual(await waiting, { ended: 2, stalled: false })
  })

  it('warms, pauses, resumes and cancels', async () => {
    const warmed = async (options: string) =>
      (await good(`cache warm ${at} ${options}`))['warm'] as WarmProgress
    assert.deepEqual(await good(`cache warm ${at}`), { domain: 'shop.example' })
    await refused(`cache warm ${at} --resume`, /No warm of shop\.example is paused/)
    assert.notEqual((await warmed('--pause')).paused_at, null)
    await warmed('--resume')
    await warmed('--outdated')
    assert.equal((await warmed('--status')).which, 'outdated')
    const watched = run(`cache warm ${at} --status --wait`)
    await warmed('--cancel')
    const { code, text } = await watched
    assert.equal(code, 1)
    assert.match(text, /^Cancelled/)
  })

  const WRONG: [args: string, words: RegExp][] = [
    ['account create --email x@b.example --plan pro --password long-one --password-stdin', /not both/],
    ['key create --email owner@example.com --name ci --expires 2999-02-30', /--expires/],
    ['domain show --domain 127.0.0.1', /--domain must be a name/],
    [`domain set ${at}`, /Nothing to change/],
    [`domain set ${at} --settings {"fresh_seconds":-1}`, /--settings: fresh_seconds must be at least 0/],
    [`redirect set ${at} --file /none`, /^--file cannot be read: /],
    [`origin-header remove ${at} --name X-Secret`, /has no header X-Secret/],
    ['jobs --limit 0', /--limit must be a whole number in 1\.\.10000/],
    [`cache warm ${at} --pause --cancel`, /--pause and --cancel/],
    [`cache purge ${at} --path b`, /--path must be a path that begins with \//],
  ]
  for (const [args, words] of WRONG) it(`ends with 2: ${args}`, () => wrong(args, words))

  it('lists and purges stored pages, removes the domain', async () => {
    await pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select id, path, 200, '[]', '\\x00', 1, 'e', now()
       from domain, unnest(array['/', '/a/1', '/a/2', '/b']) as path`,
    )
    const { pages, cachedPages } = await good(`cache list ${at}`)
    assert.equal(cachedPages, 4)
    assert.deepEqual((pages as object[])[1], { path: '/a/1', cacheKey: 'render:shop.example:/a/1' })

    const purged = async (path: string) => (await good(`cache purge ${at}${path}`))['keysDeleted']
    assert.equal(await purged(' --path /b?utm_source=mail'), 1)
    assert.equal(await purged(' --path /a/*'), 2)
    assert.equal(await purged(''), 1)
    const text = await printed(`cache purge ${at} --path /b`)
    assert.match(text, /No page is stored as \/b\. \/b\/ is another page\./)

    const { deleted } = await good(`domain remove ${at}`)
    assert.equal((deleted as { custom_domain: string }).custom_domain, 'shop.example')
  })
})

it('commands refuse to create a database, except where that is their purpose', async () => {
  const dataDir = path.join(folder, 'data')
  const { refused } = testCommands({ PREPAINT_DATA_DIR: dataDir })
  for (const args of ['jobs', 'nodes', 'account list', 'cache purge --domain a.example', 'backup file']) {
    await refused(args, /^There is no database in .*\/data\. Run the command in/)
  }
  assert.equal(existsSync(dataDir), false)
})
