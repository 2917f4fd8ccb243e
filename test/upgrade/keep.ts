/**
 * Keeps a small data directory of this version for the test of upgrades: `node test/upgrade/keep.ts` writes
 * `test/upgrade/<version>/`. Run once for each release (docs/releasing.md); never again for a released version.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { readMigrations } from '@prepaint/postgres/migrate.ts'
import { SCHEMA } from '../../bin/node/schema.ts'
import { createTestCa } from '../support/certificate-authority.ts'
import { runJson } from '../support/command-line.ts'

export const EMAIL = 'owner@example.com'
export const PASSWORD = 'a-long-password'
/** `migrations`: the checksums of the released files. `functions`: of the released set; 0.2.0 had none. */
export type Kept = {
  key: string
  token: string
  migrations: { name: string; checksum: string }[]
  functions?: { number: number; checksum: string }
}

export const migrationsHere = () => readMigrations().map(({ name, checksum }) => ({ name, checksum }))

/** Fills a data directory with what owners have, by the commands of this version, and keeps it as a backup. */
export async function keepDataDirectory(into: string): Promise<void> {
  const home = mkdtempSync(path.join(tmpdir(), 'prepaint-keep-'))
  const run = async (args: string, dataDir = path.join(home, 'demo')) => {
    const ports = { PREPAINT_API_PORT: '0', PREPAINT_EDGE_PORT: '0' }
    const { code, json } = await runJson(args.split(' '), { ...ports, PREPAINT_DATA_DIR: dataDir })
    assert.equal(code, 0, `${args}: ${JSON.stringify(json)}`)
    return json
  }
  try {
    await run('demo --check', home)
    await run(`account create --email ${EMAIL} --plan agency_plus --password ${PASSWORD}`)
    await run(`domain add --email ${EMAIL} --domain www.example.com --origin https://origin.example.com`)
    const { key } = await run(`key create --email ${EMAIL} --name kept`)
    const { token } = await run('token create --domain www.example.com --name kept')
    const leaf = createTestCa().leaf({ names: ['www.example.com'], notAfterMs: Date.UTC(2049, 0) })
    for (const name of ['chain', 'key'] as const) writeFileSync(path.join(home, name), leaf[name])
    await run(`certificate set --domain www.example.com --chain ${home}/chain --key ${home}/key`)
    mkdirSync(into, { recursive: true })
    await run(`backup ${into}/data.backup --with-key`)
    const { number, checksum } = SCHEMA.functions
    const kept = { key, token, migrations: migrationsHere(), functions: { number, checksum } }
    writeFileSync(path.join(into, 'kept.json'), `${JSON.stringify(kept, null, 2)}\n`)
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

if (import.meta.main) {
  const { default: manifest } = await import('../../package.json', { with: { type: 'json' } })
  await keepDataDirectory(path.join(import.meta.dirname, manifest.version))
}
