import assert from 'node:assert/strict'
import { chmodSync, existsSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { runJson } from '../../../test/support/command-line.ts'
import { clearDataDir, makeDataDir } from '../../../test/support/data-dir.ts'
import { serve } from '../../../test/support/loopback.ts'
import type { CheckResult } from './machine.ts'
import { dataDirectory, memory, nodeVersion } from './machine.ts'
import { portFree } from './services.ts'

describe('doctor', () => {
  const dataDir = makeDataDir()
  after(async () => assert.deepEqual(await clearDataDir(dataDir), []))

  it('tries everything on this machine and leaves nothing behind', async () => {
    const unused = `${dataDir}/unused`
    const settings = { PREPAINT_DATA_DIR: unused, PREPAINT_API_PORT: '0', PREPAINT_EDGE_PORT: '0' }
    const { code, json } = await runJson(['doctor'], settings)
    assert.equal(code, 0, JSON.stringify(json))
    assert.equal(json['ok'], true)
    const checks = json['checks'] as CheckResult[]
    const found = (name: string) => checks.find((check) => check.name === name)?.found ?? 'not looked at'
    assert.match(found('PostgreSQL (private)'), /^\d+\.\d+/)
    assert.match(found('Chromium'), /Chrome\/.*sandbox (on|off)/)
    assert.equal(existsSync(unused), false)
  })

  it('ends with 1 on a problem, and says what to do about it', async () => {
    const { port, close } = await serve(() => {})
    const { code, json } = await runJson(['doctor'], {
      PREPAINT_DATA_DIR: dataDir,
      DATABASE_URL: 'postgres://nobody:secret@127.0.0.1:1/none',
      PREPAINT_CHROMIUM: '/nonexistent/chromium',
      PREPAINT_API_PORT: String(port),
      PREPAINT_EDGE_PORT: '0',
    })
    await close()
    assert.equal(code, 1)
    const problems = (json['checks'] as CheckResult[]).filter(({ state }) => state === 'problem')
    assert.deepEqual(
      problems.map(({ name }) => name.replace(String(port), 'N')),
      ['PostgreSQL (DATABASE_URL)', 'Chromium', 'port N (PREPAINT_API_PORT)'],
    )
    for (const { advice } of problems) assert.ok(advice)
    assert.doesNotMatch(JSON.stringify(json), /secret/)
  })
})

it('doctor asks for what the roles need, and for nothing else', async () => {
  const names = async (roles: string) => {
    const { json } = await runJson(['doctor'], {
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      PREPAINT_ROLES: roles,
      PREPAINT_CHROMIUM: '/nonexistent/chromium',
      PREPAINT_API_PORT: '0',
      PREPAINT_EDGE_PORT: '0',
    })
    return (json['checks'] as CheckResult[]).map(({ name }) => name)
  }
  const [edge, api, render] = await Promise.all(['edge', 'api', 'render'].map(names))
  const common = ['Node', 'memory', 'data directory', 'disk', 'PostgreSQL (DATABASE_URL)']
  assert.deepEqual(api, [...common, 'PREPAINT_API_PORT', 'master key'])
  assert.deepEqual(render, [...common, 'Chromium', 'user namespaces', 'PREPAINT_API_PORT', 'master key'])
  assert.deepEqual(edge, [
    ...common,
    ...[
      'PREPAINT_API_PORT',
      'PREPAINT_EDGE_PORT',
      'PREPAINT_EDGE_TLS_PORT',
      'certificates (ACME)',
      'master key',
    ],
  ])
})

describe('looks at the machine', () => {
  it('at Node', () => {
    assert.equal(nodeVersion('24.0.0').state, 'ok')
    assert.equal(nodeVersion('22.9.0').state, 'problem')
  })

  it('at memory, at its limits and one past them', () => {
    const mib = 1024 * 1024
    assert.deepEqual(
      [399, 400, 999, 1_000].map((size) => memory(size * mib, 2).state),
      ['problem', 'warning', 'warning', 'ok'],
    )
    assert.equal([255, 256].map((size) => memory(size * mib, 0).state).join(), 'problem,ok')
  })

  it('at the data directory', async () => {
    const dir = makeDataDir()
    assert.equal(dataDirectory(dir).state, 'ok')
    assert.equal(dataDirectory(`${dir}/later/still`).state, 'ok')
    chmodSync(dir, 0o777)
    assert.equal(dataDirectory(dir).state, 'problem')
    await clearDataDir(dir)
  })

  it('at ports: free, or not ours to have', async () => {
    const where = { host: '127.0.0.1', setting: 'PREPAINT_API' }
    assert.equal((await portFree({ ...where, port: 0 })).state, 'ok')
    const elsewhere = await portFree({ ...where, host: '192.0.2.1', port: 4_000 })
    assert.equal(elsewhere.state, 'problem')
    assert.match(elsewhere.advice ?? '', /PREPAINT_API_HOST/)
  })
})
