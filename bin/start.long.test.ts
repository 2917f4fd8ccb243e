import assert from 'node:assert/strict'
import { existsSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { pino } from 'pino'
import { loadConfig } from '../src/config.ts'
import { runPrepaint, spawnPrepaint } from '../test/support/command-line.ts'
import { until } from '../test/support/condition.ts'
import { clearDataDir, makeDataDir } from '../test/support/data-dir.ts'
import { serve } from '../test/support/loopback.ts'
import { startNodeProcess } from '../test/support/node-process.ts'
import { processesOf } from '../test/support/processes.ts'
import { startNode } from './node/node.ts'

const PORTS = { PREPAINT_API_PORT: '0', PREPAINT_EDGE_PORT: '0' }

it('a port that is in use, or is given twice, is named before anything is made', async () => {
  const dataDir = makeDataDir()
  const { port, close } = await serve(() => {})
  const serveAt = (ports: Record<string, string>) =>
    runPrepaint(['serve'], { ...PORTS, ...ports, PREPAINT_DATA_DIR: dataDir })
  for (const name of ['API', 'EDGE']) {
    const { code, stdout, stderr } = await serveAt({ [`PREPAINT_${name}_PORT`]: `${port}` })
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(
      stderr,
      new RegExp(`^prepaint: Port ${port} on 127.0.0.1 is in use.*PREPAINT_${name}_PORT`, 'm'),
    )
  }
  await close()
  const { stderr } = await serveAt({ PREPAINT_API_PORT: `${port}`, PREPAINT_EDGE_PORT: `${port}` })
  assert.match(stderr, /PREPAINT_EDGE_PORT/)
  assert.equal(existsSync(path.join(dataDir, 'postgres')), false)
  assert.deepEqual(await clearDataDir(dataDir), [])
})

it('a data directory where none can be made is named', { skip: process.platform !== 'linux' }, async () => {
  const { code, stdout, stderr } = await runPrepaint(['serve'], { ...PORTS, PREPAINT_DATA_DIR: '/proc/x' })
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /^prepaint: The data directory \/proc\/x cannot be used: .*PREPAINT_DATA_DIR.*\n$/m)
})

it('settings that have no effect are said before anything is made, each in a line', async () => {
  const said = async (env: Record<string, string>) => {
    const lines: string[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    const config = loadConfig({ ...PORTS, ...env })
    const ended = new Error('ended')
    const started = startNode({ config, log, say: () => {}, signal: AbortSignal.abort(ended) })
    await assert.rejects(started, ended)
    return lines.map((line) => (JSON.parse(line) as { msg: string }).msg)
  }
  const env = { PREPAINT_CRAWLER_RANGES_DIR: 'ranges', PREPAINT_ACME_EMAIL: 'me@example.com' }
  assert.deepEqual(await said(env), [
    'PREPAINT_CRAWLER_RANGES_DIR is ignored: crawlers are verified only with PREPAINT_VERIFY_CRAWLERS=1',
    'PREPAINT_ACME_EMAIL is ignored: certificates are ordered only with PREPAINT_ACME_DIRECTORY',
  ])
  assert.deepEqual(await said({ ...env, PREPAINT_ROLES: 'render' }), [])
})

describe('asked to end during its start', () => {
  const dataDir = makeDataDir()
  const settings = { ...PORTS, PREPAINT_DATA_DIR: dataDir }
  after(async () => assert.deepEqual(await clearDataDir(dataDir), []))

  /** SIGTERM once `reached` holds; the rest of what it did. */
  async function startAndEnd(reached: (stderr: string) => boolean) {
    const child = spawnPrepaint(['serve'], { ...settings, PREPAINT_LOG_LEVEL: 'debug' })
    let stderr = ''
    child.stderr!.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
    })
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const stdout = text(child.stdout!)
    // To unpack the browser alone takes a slow machine half a minute.
    await until('the start is so far', () => reached(stderr), 200_000).catch(async (error: unknown) => {
      child.kill('SIGKILL')
      await ended
      throw error
    })
    const askedMs = performance.now()
    child.kill('SIGTERM')
    const code = await ended
    return { code, stdout: await stdout, ms: performance.now() - askedMs, stderr }
  }

  // Each finds what the one before it left half done.
  const moments: [string, (stderr: string) => boolean][] = [
    ['the database is being made', (stderr) => stderr.includes('Creating the database')],
    ['the schema is made', (stderr) => stderr.includes('migration applied')],
    ['the browser has begun', () => processesOf(dataDir).some(({ command }) => /chrom/.test(command))],
  ]
  for (const [moment, reached] of moments) {
    it(`${moment}: status 0, no ready line, nothing left running`, async () => {
      const { code, stdout, ms, stderr } = await startAndEnd(reached)
      assert.deepEqual([code, stdout], [0, ''], stderr)
      // A second or two, and more on a busy machine; what does not hear it takes for ever.
      assert(ms < 20_000, `took ${ms} ms`)
      await until('nothing is left running', () => processesOf(dataDir).length === 0, 15_000)
    })
  }

  it('and after all of these it starts', async () => {
    const node = await startNodeProcess(dataDir, settings)
    assert.equal(await node.stop(), 0)
  })
})

it('compiled code is kept for later starts, where only the node can write', async () => {
  const dataDir = makeDataDir()
  // Tests have a cache of their own otherwise.
  const node = await startNodeProcess(dataDir, { NODE_COMPILE_CACHE: '' })
  const compiled = path.join(dataDir, 'compiled')
  await until('it is written', () => readdirSync(compiled, { recursive: true }).length > 100)
  assert.equal(statSync(compiled).mode & 0o777, 0o700)
  await node.stop()
  assert.deepEqual(await clearDataDir(dataDir), [])
})
