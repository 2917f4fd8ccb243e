import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { it, type TestContext } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { SCHEMA } from '../../../../bin/node/schema.ts'
import { until } from '../../../../test/support/condition.ts'
import { type TestDatabase, testDatabase } from '../../../../test/support/database.ts'
import { readShape } from '../domain-partitions.ts'
import { migrate } from '../migrate.ts'
import { readBackup, tablesInOrder } from './backup.ts'
import { restoreBackup } from './restore.ts'

async function opened(t: TestContext, options: { empty?: boolean } = {}): Promise<TestDatabase> {
  const database = await testDatabase(options)
  t.after(() => database.close())
  return database
}

const backupOf = ({ connection }: TestDatabase, pages = true) =>
  readBackup(connection, { version: '1.0.0', masterKey: null, pages })

async function wholeBackup(from: TestDatabase): Promise<Buffer> {
  return buffer(Readable.from(backupOf(from)))
}

/** The same backup as 0.2.0 writes it, by lines. */
async function formatOne(from: TestDatabase): Promise<string[]> {
  const [first = ''] = (await wholeBackup(from)).toString().split('\n', 1)
  const lines = [JSON.stringify({ ...JSON.parse(first), format: 1 })]
  const end: Record<string, number> = {}
  for (const { name, columns } of await tablesInOrder(from.pool)) {
    const rows = await from.column<string>(`select row_to_json(t)::text from "${name}" t`)
    lines.push(JSON.stringify({ table: name, columns }), ...rows)
    end[name] = rows.length
  }
  lines.push(JSON.stringify({ end }))
  return lines
}

async function* inPieces(whole: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < whole.length; at += size) yield whole.subarray(at, at + size)
}

const restore = ({ connection }: TestDatabase, pieces: AsyncIterable<Buffer>) =>
  restoreBackup(connection, pieces, SCHEMA, silentLog())
const restoreLines = (to: TestDatabase, lines: readonly string[]) =>
  restore(to, inPieces(Buffer.from(`${lines.join('\n')}\n`), 65_536))

/** Rows whose values are easy to spoil. */
async function fill({ pool }: TestDatabase): Promise<void> {
  await pool.query(
    `insert into account (email, plan) select 'a' || n || '@example.com', 'pro' from generate_series(1, 3) n;
     delete from account where id = 3;
     insert into domain (account_id, custom_domain, origin_url, settings)
     select 1, 'a.example', 'http://a', '{"text": "line\\nbreak \\u2028 \\"quoted\\" \\\\ end", "big": 12345678901234567890}';
     insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select 1, '/' || n, 200, '[["a", "b\\nc"]]', decode(md5(n::text), 'hex') || '\\x000a0dff', n, E'e\\n\\\\.\\n\\t\\r',
            timestamptz '2026-11-21 12:00:00.123456+00' + n * interval '1 microsecond'
       from generate_series(1, 2500) n;
     insert into job (domain_id, account_id, path, priority, turn) values (1, 1, '/', 2, 1);
     insert into traffic_minute select at, gen_random_uuid(), 1, 1, '[["search", "b\\nc"]]'
       from unnest('{now, 2020-01-01}'::timestamptz[]) at;
     insert into known_path values (1, '/ä–漢字😀?a=1&b=%0A', 'crawler', 'infinity')`,
  )
}

async function contents({ pool, column }: TestDatabase): Promise<unknown> {
  const rows = (table: string) => `select md5(t::text) from "${table}" t order by 1`
  const tables = await tablesInOrder(pool)
  return Promise.all(tables.map(async ({ name }) => [name, await column(rows(name))]))
}

it('a backup of whole tables is restored into divided ones, and one of those, too: no page is lost or doubled', async (t) => {
  const from = await testDatabase({ empty: true })
  t.after(() => from.close())
  await migrate(from.connection, { ...SCHEMA, divided: [] }, silentLog())
  await fill(from)
  await from.pool.query('analyze')
  const isDivided = async ({ pool }: TestDatabase) => (await readShape(pool, SCHEMA.divided))?.isDivided
  assert.equal(await isDivided(from), false)
  const [to, further] = [await opened(t, { empty: true }), await opened(t, { empty: true })]
  const { head } = await restore(to, backupOf(from))
  assert.ok(head.estimate!.rows >= 2_500 && head.estimate!.bytes > 100_000, 'it says what a restore takes')
  assert.equal(await isDivided(to), true)
  assert.deepEqual(await contents(to), await contents(from))
  await restore(further, backupOf(to))
  assert.equal(await isDivided(further), true)
  assert.deepEqual(await contents(further), await contents(from))
})

it('every row of every table comes back as it was, byte by byte', async (t) => {
  const from = await opened(t)
  const to = await opened(t, { empty: true })
  await fill(from)
  const { head, rows } = await restore(to, backupOf(from))
  assert.deepEqual([head.format, head.pages, head.master_key, head.version], [2, true, null, '1.0.0'])
  assert.deepEqual([rows['account'], rows['domain'], rows['page']], [2, 1, 2_500])
  assert.deepEqual(await contents(to), await contents(from))
  // The number 3 was given once, and taken back: the next may be it again, but none that is there.
  const insert = `insert into account (email, plan) values ('new@example.com', 'pro') returning id`
  assert.ok((await to.column<number>(insert))[0]! > 2)
})

it('a backup shows one moment, whatever is changed while it is read; without pages, it has all but the render cache', async (t) => {
  const from = await opened(t)
  await fill(from)
  const to = await opened(t, { empty: true })
  const changing = async function* () {
    let first = true
    for await (const piece of backupOf(from, false)) {
      if (first) await from.pool.query(`update account set plan = 'starter'; delete from domain`)
      first = false
      yield piece
    }
  }
  const { rows } = await restore(to, changing())
  assert.deepEqual(await to.column('select distinct plan from account'), ['pro'])
  assert.deepEqual([rows['domain'], rows['known_path']], [1, 1])
  assert.deepEqual([rows['page'], rows['page_form']], [undefined, undefined])
})

for (const size of [1, 7]) {
  it(`a backup is read the same where it comes in pieces of ${size} bytes`, async (t) => {
    const from = await opened(t)
    const to = await opened(t, { empty: true })
    await fill(from)
    await from.pool.query(`delete from page where path not in ('/1', '/2')`)
    await restore(to, inPieces(await wholeBackup(from), size))
    assert.deepEqual(await contents(to), await contents(from))
  })
}

it('every row of a backup of format 1 comes back as it was, also texts with line separators of Unicode', async (t) => {
  const from = await opened(t)
  const to = await opened(t, { empty: true })
  await fill(from)
  const { head, rows } = await restoreLines(to, await formatOne(from))
  assert.deepEqual([head.format, rows['account'], rows['domain'], rows['page']], [1, 2, 1, 2_500])
  assert.deepEqual(await contents(to), await contents(from))
})

it('a backup that 0.2.0 made of an upgraded database is restored without the record of its functions', async (t) => {
  const from = await opened(t)
  await fill(from)
  const lines = await formatOne(from)
  const { end } = JSON.parse(lines.pop()!) as { end: Record<string, number> }
  lines.push(
    '{"table":"schema_functions","columns":["one_row","number","checksum","applied_at"]}',
    '{"one_row":true,"number":1000000,"checksum":"of another version","applied_at":"2026-11-21T12:00:00Z"}',
    JSON.stringify({ end: { ...end, schema_functions: 1 } }),
  )
  const to = await opened(t, { empty: true })
  const { rows } = await restoreLines(to, lines)
  assert.deepEqual([rows['account'], rows['page']], [2, 2_500])
  assert.deepEqual(await to.column('select number from schema_functions'), [SCHEMA.functions.number])
})

// Proves decided "Backup"
for (const format of [1, 2]) {
  it(`a backup of format ${format} that is not whole, or of a newer version, leaves nothing`, async (t) => {
    const from = await opened(t)
    await fill(from)
    const inFormatTwo = async () => (await wholeBackup(from)).toString().trimEnd().split('\n')
    const lines = format === 1 ? await formatOne(from) : await inFormatTwo()
    const newer = lines[0]!.replace('"0001-schema.sql"', '"0001-schema.sql","9999-newer.sql"')
    const unknown = lines[0]!.replace(`"format":${format}`, '"format":3')
    const page = lines.findIndex((line) => line.startsWith('{"table":"page"'))
    const to = await opened(t, { empty: true })
    const refuses = async (given: string[], words: RegExp) => {
      await assert.rejects(restoreLines(to, given), words)
      const [there] = await to.column(`select to_regclass('account')`)
      if (there !== null) assert.equal((await to.pool.query('select from account')).rowCount, 0)
    }
    await refuses(['what'], /not a backup of Prepaint/)
    await refuses([unknown, ...lines.slice(1)], /not a backup of Prepaint, or it is of a newer version/)
    await refuses([newer, ...lines.slice(1)], /the migration 9999-newer\.sql: restore it with that version/)
    await refuses(lines.slice(0, -1), /is incomplete/)
    await refuses(lines.slice(0, page + 1), /is incomplete/)
    await refuses(lines.slice(0, page + 1_000), /is incomplete/)
    await refuses(lines.toSpliced(page + 1, 1), /damaged: page has 2499 rows of 2500/)
    await restoreLines(to, lines)
    await assert.rejects(restoreLines(to, lines), /has accounts already/)
  })
}

it('a backup that is cut off within a row leaves nothing', async (t) => {
  const from = await opened(t)
  await fill(from)
  const whole = await wholeBackup(from)
  const to = await opened(t, { empty: true })
  const rows = whole.indexOf('{"table":"page"')
  for (const length of [rows + 200, Math.floor(whole.length / 2), whole.lastIndexOf('\\.\n') + 2]) {
    await assert.rejects(restore(to, inPieces(whole.subarray(0, length), 1_000)), /is incomplete/)
    assert.equal((await to.pool.query('select from account')).rowCount, 0)
  }
})

it('a backup that nobody reads to its end leaves no connection', async (t) => {
  const from = await opened(t)
  await from.pool.query(
    `create table large as select n, repeat(md5(n::text), 100) from generate_series(1, 20000) n`,
  )
  let bytes = 0
  for await (const piece of backupOf(from)) {
    bytes += piece.length
    if (bytes > 1_000_000) break
  }
  const others = `select count(*)::integer from pg_stat_activity
                   where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`
  await until('no connection is busy', async () => (await from.column(others))[0] === 0)
})
