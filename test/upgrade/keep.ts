/**
 * Keeps a small data directory of this version for the test of upgrades: `node test/upgrade/keep.ts` writes
 * `test/upgrade/<version>/`. Run once for each release (docs/releasing.md); never again for a released version.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { readMigrations } from '../../src/db/migrate.ts'
import { createTestCa } from '../support/certificate-authority.ts'
import { runJson } from '../support/command-line.ts'

export const EMAIL = 'owner@example.com'
export const PASSWORD = 'a long password'
/** `migrations`: the checksums of the released files. */
export type Kept = { key: string; token: string; migrations: { name: string; checksum: string }[] }

/** Fills a data directory with what owners have, by the commands of this version, and keeps it as a backup. */
export async function keepDataDirectory(into: string): Promise<void> {
  const home = mkdtempSync(path.join(tmpdir(), 'prepaint-keep-'))
  const settings = { PREPAINT_API_PORT: '0', PREPAINT_EDGE_PORT: '0' }
  const run = async (args: readonly string[], dataDir: string, stdin = '') => {
    const { code, json } = await runJson(args, { ...settings, PREPAINT_DATA_DIR: dataDir }, stdin)
    assert.equal(code, 0, `${args.join(' ')}: ${JSON.stringify(json)}`)
    return json
  }
  try {
    // A domain with rendered pages, visits, renders and a quota that was used.
    await run(['demo', '--check'], home)
    const dataDir = path.join(home, 'demo')
    const account = ['--email', EMAIL]
    const domain = ['--domain', 'www.example.com']
    await run(
      ['account', 'create', ...account, '--plan', 'agency_plus', '--password-stdin'],
      dataDir,
      PASSWORD,
    )
    await run(['domain', 'add', ...account, ...domain, '--origin', 'https://origin.example.com'], dataDir)
    const { key } = await run(['key', 'create', ...account, '--name', 'kept'], dataDir)
    const { token } = await run(['token', 'create', ...domain, '--name', 'kept'], dataDir)
    const leaf = createTestCa().leaf({ names: ['www.example.com'], notAfterMs: Date.UTC(2049, 0) })
    for (const name of ['chain', 'key'] as const) writeFileSync(path.join(home, name), leaf[name])
    const files = ['--chain', path.join(home, 'chain'), '--key', path.join(home, 'key')]
    await run(['certificate', 'set', ...domain, ...files], dataDir)
    mkdirSync(into, { recursive: true })
    rmSync(path.join(into, 'data.backup'), { force: true })
    await run(['backup', path.join(into, 'data.backup'), '--with-key'], dataDir)
    const migrations = readMigrations().map(({ name, checksum }) => ({ name, checksum }))
    writeFileSync(path.join(into, 'kept.json'), `${JSON.stringify({ key, token, migrations }, null, 2)}\n`)
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

if (import.meta.main) {
  const { default: manifest } = await import('../../package.json', { with: { type: 'json' } })
  await keepDataDirectory(path.join(import.meta.dirname, manifest.version))
}
