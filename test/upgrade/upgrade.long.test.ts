/** Data of every released version, from 0.2.0 on, opens with this one. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { it } from 'node:test'
import { SCHEMA } from '../../bin/node/schema.ts'
import { runJson } from '../support/command-line.ts'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { edgeRequest, GOOGLEBOT } from '../support/edge-request.ts'
import { openFolder } from '../support/folder.ts'
import { startNodeProcess } from '../support/node-process.ts'
import { callApi } from '../support/tenant.ts'
import { EMAIL, type Kept, keepDataDirectory, migrationsHere, PASSWORD } from './keep.ts'

const changelog = readFileSync(path.resolve(import.meta.dirname, '../../CHANGELOG.md'), 'utf8')
const versions = [...changelog.matchAll(/^## (\d+\.\d+\.\d+)( \(not released yet\))?/gm)]
  .map(([, version, unreleased]) => ({ version: version!, isReleased: unreleased === undefined }))
  .filter(({ version }) => version !== '0.1.0')
const made = openFolder()

/** Of a released version: what was kept. Of this one before its release, whose schema may still change: made now. */
async function dataOf({ version, isReleased }: (typeof versions)[number]): Promise<string> {
  if (!isReleased) {
    await keepDataDirectory(made)
    return made
  }
  const dir = path.join(import.meta.dirname, version)
  const missing = `${version} is released: run node test/upgrade/keep.ts on its tag, and commit ${dir}`
  assert.ok(existsSync(dir), missing)
  return dir
}

it('the changelog names 0.2.0, the first version that upgrades', () =>
  assert.ok(versions.some(({ version }) => version === '0.2.0')))

for (const one of versions) {
  it(`a data directory of ${one.version} opens: accounts, keys, pages and certificates are there`, async (t) => {
    const dir = await dataOf(one)
    const kept = JSON.parse(readFileSync(path.join(dir, 'kept.json'), 'utf8')) as Kept
    assert.deepEqual(
      migrationsHere().slice(0, kept.migrations.length),
      kept.migrations,
      'released migrations are not edited: docs/releasing.md says how to change the schema',
    )
    const { number, checksum } = SCHEMA.functions
    if (kept.functions !== undefined) {
      assert.ok(number >= kept.functions.number, 'the number of the functions never falls')
      if (number === kept.functions.number) assert.equal(checksum, kept.functions.checksum)
    }

    const dataDir = makeDataDir()
    t.after(() => clearDataDir(dataDir))
    const settings = { PREPAINT_DATA_DIR: dataDir }
    const restored = await runJson(['restore', path.join(dir, 'data.backup')], settings)
    assert.deepEqual([restored.code, restored.json['master_key_fits']], [0, true])

    const node = await startNodeProcess(dataDir)
    t.after(() => node.stop())
    const { status, body } = await callApi(node, kept.key, { method: 'GET', path: '/api/domains' })
    assert.equal(status, 200)
    assert.match(JSON.stringify(body), /"www\.example\.com"/)
    const session = await fetch(`${node.api}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: node.api },
      body: JSON.stringify({ email: EMAIL, password: PASSWORD }),
    })
    assert.equal(session.status, 200)
    const request = { host: 'shop.localhost', path: '/product/morning-mug', userAgent: GOOGLEBOT }
    const page = await edgeRequest(node.edge, request)
    assert.match(page.verdict, /^(hit|stale)/)
    assert.match(page.body.toString(), /A heavy stoneware mug/)
    const certificate = await runJson(['certificate', 'show', '--domain', 'www.example.com'], settings)
    assert.match(JSON.stringify(certificate.json), /"source":"own","names":\["www\.example\.com"\]/)
  })
}
