import assert from 'node:assert/strict'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { GivenServer } from '@prepaint/postgres/database.ts'
import { parseMasterKeys } from '@prepaint/service/certificates/vault/master-key.ts'
import { databaseOf } from '@prepaint/service/snapshot/edge-snapshot.ts'
import { SnapshotFile, snapshotPath } from '@prepaint/service/snapshot/snapshot-file.ts'
import { startTestAcme } from '../../../test/support/acme-server.ts'
import { testCommands } from '../../../test/support/commands.ts'
import { openFolder } from '../../../test/support/folder.ts'
import { CLIENT, startIdentityProvider } from '../../../test/support/identity-provider.ts'
import { serve } from '../../../test/support/loopback.ts'
import { type CheckResult, dataDirectory, memory, nodeVersion } from './machine.ts'
import {
  acmeDirectory,
  edgeSnapshot,
  email,
  masterKey,
  portFree,
  singleSignOn,
  tablesOfPages,
} from './services.ts'

const folder = openFolder()
const { run } = testCommands({
  DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none',
  PREPAINT_DATA_DIR: folder,
  PREPAINT_CHROMIUM: '/nonexistent/chromium',
  PREPAINT_API_PORT: '0',
  PREPAINT_EDGE_PORT: '0',
})
const doctor = async (settings: Record<string, string>) => {
  const { code, json } = await run('doctor', settings)
  return { code, checks: json['checks'] as CheckResult[] }
}

it('doctor ends with 1 on a problem, and says what to do about it, without secrets', async () => {
  const { port, close } = await serve(() => {})
  const { code, checks } = await doctor({ PREPAINT_API_PORT: String(port) })
  await close()
  assert.equal(code, 1)
  const problems = checks.filter(({ state }) => state === 'problem')
  const names = problems.map(({ name }) => name).join(', ')
  assert.equal(names, `PostgreSQL (DATABASE_URL), Chromium, port ${port} (PREPAINT_API_PORT)`)
  for (const { advice } of problems) assert.ok(advice)
  assert.doesNotMatch(JSON.stringify(checks), /secret/)
})

it('doctor asks for what the roles need, and for nothing else', async () => {
  const names = async (PREPAINT_ROLES: string) =>
    (await doctor({ PREPAINT_ROLES })).checks.map(({ name }) => name).join(', ')
  const common = 'Node, memory, data directory, disk, PostgreSQL (DATABASE_URL)'
  const ports = 'PREPAINT_API_PORT, PREPAINT_EDGE_PORT, PREPAINT_EDGE_TLS_PORT'
  assert.equal(await names('api'), `${common}, PREPAINT_API_PORT, master key, e-mail, single sign-on, bodies`)
  assert.equal(
    await names('render'),
    `${common}, Chromium, user namespaces, PREPAINT_API_PORT, master key, bodies`,
  )
  assert.equal(
    await names('edge'),
    `${common}, ${ports}, certificates (ACME), snapshot of domains, master key, bodies`,
  )
})

it('Node: at the oldest version, and one before it', () =>
  assert.deepEqual([nodeVersion('24.0.0').state, nodeVersion('22.9.0').state], ['ok', 'problem']))

it('memory: at its limits and one past them', () => {
  const states = (slots: number, ...mibs: number[]) => mibs.map((mib) => memory(mib * 2 ** 20, slots).state)
  assert.deepEqual(states(2, 399, 400, 999, 1_000), ['problem', 'warning', 'warning', 'ok'])
  assert.deepEqual(states(0, 255, 256), ['problem', 'ok'])
})

it('the data directory: there, still to be made, or open to others', () => {
  assert.equal(dataDirectory(folder).state, 'ok')
  assert.equal(dataDirectory(`${folder}/later/still`).state, 'ok')
  chmodSync(folder, 0o777)
  assert.equal(dataDirectory(folder).state, 'problem')
})

describe('the snapshot of domains', () => {
  const HOUR_MS = 3_600_000
  const AT_MS = Date.parse('2026-01-02T03:04:05Z')
  const databaseUrl = 'postgres://user:secret@db.example/prepaint'
  const ofDatabase = databaseOf(new GivenServer(databaseUrl).connection)
  /** A data directory with the snapshot of one domain, written at `AT_MS`. */
  const withSnapshot = () => {
    const dataDir = openFolder()
    const file = new SnapshotFile(dataDir)
    file.write([{ host: 'a.example', row: '{}', certificate: null }], [])
    file.setAbout(ofDatabase, '', new Date(AT_MS).toISOString())
    file.close()
    return dataDir
  }
  const look = (dataDir: string, afterMs: number, url = databaseUrl, snapshotHours = 24) =>
    edgeSnapshot({ dataDir, databaseUrl: url, edge: { snapshotHours } }, AT_MS + afterMs)

  it('has its number of domains, size and age', () => {
    const dataDir = withSnapshot()
    const found = (afterMs: number) => look(dataDir, afterMs).found
    assert.match(found(119_999), /^1 domains, \d+ KiB, 119 s old$/)
    assert.match(found(120_000), /, 2 min old$/)
    assert.match(found(2 * HOUR_MS - 1), /, 119 min old$/)
    assert.match(found(2 * HOUR_MS), /, 2 h old$/)
    assert.doesNotMatch(found(0), /secret/)
  })

  it('is good until PREPAINT_SNAPSHOT_HOURS, and a warning after it', () => {
    const dataDir = withSnapshot()
    assert.equal(look(dataDir, 24 * HOUR_MS).state, 'ok')
    const late = look(dataDir, 24 * HOUR_MS + 1)
    assert.equal(late.state, 'warning')
    assert.match(late.advice ?? '', /PREPAINT_SNAPSHOT_HOURS \(24\)/)
  })

  it('of another database is a warning', () => {
    const other = look(withSnapshot(), 0, 'postgres://user:secret@db.example/other')
    assert.equal(other.state, 'warning')
    assert.match(other.found, /of another database$/)
  })

  it('that is damaged is a warning that names the file', () => {
    const dataDir = openFolder()
    writeFileSync(snapshotPath(dataDir), 'no database '.repeat(100))
    const damaged = look(dataDir, 0)
    assert.equal(damaged.state, 'warning')
    assert.match(damaged.found, /edge-snapshot\.db cannot be read: /)
  })

  it('that is not there is no problem, and is not made', () => {
    const dataDir = openFolder()
    assert.deepEqual([look(dataDir, 0).state, existsSync(snapshotPath(dataDir))], ['ok', false])
    assert.match(look(dataDir, 0, databaseUrl, 0).found, /PREPAINT_SNAPSHOT_HOURS is 0/)
  })
})

it('a port: free, or not ours to have', async () => {
  const where = { host: '127.0.0.1', setting: 'PREPAINT_API' }
  assert.equal((await portFree({ ...where, port: 0 })).state, 'ok')
  const elsewhere = await portFree({ ...where, host: '192.0.2.1', port: 4_000 })
  assert.equal(elsewhere.state, 'problem')
  assert.match(elsewhere.advice ?? '', /PREPAINT_API_HOST/)
})

it('the CA: off, there, without an address for trouble, no CA at all, or away', async () => {
  const acme = await startTestAcme({ http: 1, tls: 1 })
  const look = (directory: string | null, email: string | null = 'me@example.com') =>
    acmeDirectory({ version: '1', acme: { directory, email, selfCheck: true, ordersPerHour: 1 } }, acme.ca)
  assert.equal((await look(null)).state, 'ok')
  assert.equal((await look(acme.directoryUrl)).state, 'ok')
  assert.equal((await look(acme.directoryUrl, null)).state, 'warning')
  const nonce = await look(acme.directoryUrl.replace('/dir', '/nonce'))
  assert.match(nonce.found, /is not the directory of a CA/)
  await acme.close()
  const away = await look(acme.directoryUrl)
  assert.equal(away.state, 'problem')
  assert.match(away.advice ?? '', /PREPAINT_ACME_DIRECTORY/)
})

it('single sign-on: off, or whether the provider names its endpoints; a problem where nobody signs in otherwise', async () => {
  const provider = await startIdentityProvider()
  const sso = {
    issuer: provider.issuer,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    name: 'Acme',
    operatorGroup: null,
    isOnly: false,
  }
  const publicUrl = 'https://prepaint.example'
  assert.equal((await singleSignOn({ sso: null, publicUrl })).state, 'ok')
  const works = await singleSignOn({ sso, publicUrl })
  assert.equal(works.state, 'ok', works.found)
  assert.match(works.found, /its redirect address is https:\/\/prepaint\.example\/sign-in\/sso\/callback$/)
  const other = await singleSignOn({ sso: { ...sso, issuer: `${provider.issuer}/other` }, publicUrl })
  assert.equal(other.state, 'warning')
  await provider.close()
  const away = await singleSignOn({ sso: { ...sso, isOnly: true }, publicUrl })
  assert.equal(away.state, 'problem')
  assert.match(away.advice ?? '', /PREPAINT_OIDC_ISSUER/)
  assert.doesNotMatch(JSON.stringify([works, other, away]), new RegExp(CLIENT.secret.slice(0, 6)))
})

it('the master key: its own file is enough for one node alone', () => {
  const secretKeys = parseMasterKeys(Buffer.alloc(32).toString('base64'))
  assert.equal(masterKey({ secretKeys: null, databaseUrl: null }).state, 'ok')
  assert.equal(masterKey({ secretKeys: null, databaseUrl: 'postgres://x' }).state, 'warning')
  assert.equal(masterKey({ secretKeys, databaseUrl: 'postgres://x' }).state, 'ok')
})

describe('the tables of pages', () => {
  const GIB = 1024 ** 3
  const tables = (pages: number, dir: string | null, bytes = 24 * GIB) =>
    tablesOfPages({ isDivided: false, rows: 21_000_000, bytes }, pages, dir)

  it('that are whole should be divided from a million pages on, and not below', () => {
    assert.deepEqual([tables(999_999, null).state, tables(1_000_000, null).state], ['ok', 'warning'])
    assert.match(
      tables(999_999, null).found,
      /^whole, because an older version made them, about 999,999 pages$/,
    )
    assert.match(tables(1_000_000, null).advice!, /takes about 70 minutes and 24.0 GiB of disk \(docs/)
  })

  it('are good if they are divided, however many pages there are', () => {
    const divided = tablesOfPages({ isDivided: true, rows: 0, bytes: 0 }, 20_000_000, null)
    assert.deepEqual([divided.state, divided.found], ['ok', 'divided by domain, about 20,000,000 pages'])
  })

  it('of the private PostgreSQL need space on its disk, which the advice says if there is none', () => {
    assert.doesNotMatch(tables(1_000_000, folder, 1).advice!, /has only/)
    assert.match(tables(1_000_000, folder, 2 ** 60).advice!, /has only [\d.]+ GiB free/)
  })
})

it('e-mail: without it a warning says what to set where accounts do not trust each other', async () => {
  const { advice, state } = email({ mail: null })
  assert.equal(state, 'warning')
  assert.match(String(advice), /PREPAINT_SMTP_URL, PREPAINT_MAIL_FROM and PREPAINT_PUBLIC_URL/)
  const configured = {
    PREPAINT_SMTP_URL: 'smtp://mail.example.com',
    PREPAINT_MAIL_FROM: 'us@example.com',
    PREPAINT_PUBLIC_URL: 'https://prepaint.example',
  }
  const { checks } = await doctor(configured)
  assert.equal(checks.find(({ name }) => name === 'e-mail')?.state, 'ok')
})
