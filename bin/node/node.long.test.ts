import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { after, describe, it } from 'node:test'
import { runJson, runPrepaint, spawnPrepaint } from '../../test/support/command-line.ts'
import { until } from '../../test/support/condition.ts'
import { clearDataDir, makeDataDir } from '../../test/support/data-dir.ts'
import { serve } from '../../test/support/loopback.ts'
import { startNodeProcess } from '../../test/support/node-process.ts'
import { processesOf } from '../../test/support/processes.ts'

const dataDir = makeDataDir()
const settings = {
  PREPAINT_DATA_DIR: dataDir,
  PREPAINT_API_PORT: '0',
  PREPAINT_EDGE_PORT: '0',
  PREPAINT_RENDER_SLOTS: '2',
  PREPAINT_LOG_LEVEL: 'warn',
}
const ours = (name: RegExp) => processesOf(dataDir).filter(({ command }) => name.test(command))
const nothingRuns = () => until('nothing is left running', () => processesOf(dataDir).length === 0)
after(async () => assert.deepEqual(await clearDataDir(dataDir), []))

it('a port that is in use, or is given twice, is named before anything is made', async () => {
  const { port, close } = await serve(() => {})
  const serveAt = (ports: Record<string, string>) => runPrepaint(['serve'], { ...settings, ...ports })
  for (const name of ['API', 'EDGE']) {
    const { code, stdout, stderr } = await serveAt({ [`PREPAINT_${name}_PORT`]: `${port}` })
    assert.deepEqual([code, stdout], [1, ''])
    const words = `^prepaint: Port ${port} on 127.0.0.1 is in use.*PREPAINT_${name}_PORT`
    assert.match(stderr, new RegExp(words, 'm'))
  }
  await close()
  const { stderr } = await serveAt({ PREPAINT_API_PORT: `${port}`, PREPAINT_EDGE_PORT: `${port}` })
  assert.match(stderr, /PREPAINT_EDGE_PORT/)
  assert.equal(existsSync(path.join(dataDir, 'postgres')), false)
})

it('a data directory where none can be made is named', async () => {
  const { code, stdout, stderr } = await runPrepaint(['serve'], { ...settings, PREPAINT_DATA_DIR: '/proc/x' })
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /^prepaint: The data directory \/proc\/x cannot be used: .*PREPAINT_DATA_DIR.*\n$/m)
})

it('a browser that cannot run is named, and the database that was made meanwhile is ended', async () => {
  const dir = makeDataDir()
  const browser = path.join(dir, 'no-browser')
  const wrong = { ...settings, PREPAINT_DATA_DIR: dir, PREPAINT_CHROMIUM: browser }
  const { code, stdout, stderr } = await runPrepaint(['serve'], wrong)
  assert.deepEqual([code, stdout], [1, ''])
  const words = `^prepaint: PREPAINT_CHROMIUM: ${browser} is not a program that can be run\n$`
  assert.match(stderr, new RegExp(words, 'm'))
  await until('nothing is left running', () => processesOf(dir).length === 0)
  // A server that was cut would have left it.
  assert.deepEqual(
    ['PG_VERSION', 'postmaster.pid'].map((file) => existsSync(path.join(dir, 'postgres/data', file))),
    [true, false],
  )
  await clearDataDir(dir)
})

describe('asked to end during its start', () => {
  /** SIGTERM once `reached` holds; the rest of what it did. */
  async function startAndEnd(reached: (stderr: string) => boolean) {
    const child = spawnPrepaint(['serve'], { ...settings, PREPAINT_LOG_LEVEL: 'debug' })
    let stderr = ''
    child.stderr!.setEncoding('utf8').on('data', (said: string) => {
      stderr += said
    })
    const [stdout, closed] = [text(child.stdout!), once(child, 'close')]
    // To unpack the browser alone takes a slow machine half a minute.
    await until('the start is so far', () => reached(stderr), 200_000).finally(() => child.kill('SIGTERM'))
    const askedMs = performance.now()
    const [code] = (await closed) as [number | null]
    // A second or two, and more on a busy machine; what does not hear it takes for ever.
    assert(performance.now() - askedMs < 60_000, 'it ends soon')
    return { code, stdout: await stdout, stderr }
  }

  // Each finds what the one before it left half done.
  const moments: [string, (stderr: string) => boolean][] = [
    ['the database is being made', (stderr) => stderr.includes('Creating the database')],
    ['the schema is made', (stderr) => stderr.includes('tables created')],
    ['the browser has begun', () => ours(/chrom/).length > 0],
  ]
  for (const [moment, reached] of moments) {
    it(`${moment}: status 0, no ready line, nothing left running`, async () => {
      const { code, stdout, stderr } = await startAndEnd(reached)
      assert.deepEqual([code, stdout], [0, ''], stderr)
      await nothingRuns()
    })
  }
})

it('a node starts after all of these, tells the truth on /readyz, ends with 0 on SIGTERM', async () => {
  // Tests have a cache of their own otherwise.
  const more = { PREPAINT_ACME_EMAIL: 'me@example.com', NODE_COMPILE_CACHE: '' }
  const node = await startNodeProcess(dataDir, { ...settings, ...more })
  assert.match(node.log(), /"PREPAINT_ACME_EMAIL is ignored: certificates are ordered only with /)
  const readyz = await fetch(`${node.api}/readyz`)
  assert.equal(readyz.status, 200)
  assert.deepEqual(await readyz.json(), { ready: true, state: 'serving', database: 'ok', browser: 'ok' })
  assert.equal((await fetch(node.edge)).status, 404)

  const second = await runPrepaint(['serve'], settings)
  assert.equal(second.code, 1)
  assert.match(second.stderr, /in use by another Prepaint/)

  // Compiled code is kept for later starts, where only the node can write.
  const compiled = path.join(dataDir, 'compiled')
  await until('it is written', () => readdirSync(compiled, { recursive: true }).length > 100)
  assert.equal(statSync(compiled).mode & 0o777, 0o700)

  assert.equal(await node.stop(), 0)
  assert.deepEqual(processesOf(dataDir), [])
  await assert.rejects(fetch(`${node.api}/readyz`))
})

it('a node finishes an answer that is under way before it ends', async () => {
  const node = await startNodeProcess(dataDir, { ...settings, PREPAINT_ROLES: 'api' })
  // A request whose body is still on its way: its answer must come, although no new one is taken.
  const headers = { 'x-api-key': 'none', 'content-type': 'application/json', 'content-length': 2 }
  const request = http.request(`${node.api}/api/cache/purge`, {
    method: 'POST',
    // Asked for the body, its client knows that it has been read so far.
    headers: { ...headers, expect: '100-continue' },
  })
  const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
  request.flushHeaders()
  await once(request, 'continue')
  request.write('{')
  const ended = node.stop()
  await until('it takes no new request', async () => (await fetch(node.api).catch(() => null)) === null)
  request.end('}')
  const [answer] = await answered
  assert.equal(answer.resume().statusCode, 401)
  assert.equal(await ended, 0)
})

it('a node that does not render starts a browser to read the selectors of rules, and ends it with itself', async () => {
  const node = await startNodeProcess(dataDir, { ...settings, PREPAINT_ROLES: 'api' })
  const run = async (words: string) => {
    const { code, json } = await runJson(words.split(' '), settings)
    assert.equal(code, 0, JSON.stringify(json))
    return json
  }
  await run('account create --email rules@b.example --plan agency_plus')
  const { key } = await run('key create --email rules@b.example --name test')
  await run('domain add --email rules@b.example --domain rules.example --origin https://93.184.216.34')
  const save = async (selector: string) => {
    const rules = [{ path: '/', render: { wait_for: selector } }]
    const answer = await fetch(`${node.api}/api/domains/rules.example`, {
      method: 'PUT',
      headers: { 'x-api-key': String(key), 'content-type': 'application/json' },
      body: JSON.stringify({ settings: { rules } }),
    })
    return answer.status
  }
  // On a busy machine the browser starts too late for the first save, which the grammar refuses.
  await until('the browser is asked', async () => (await save('a:-webkit-any-link')) === 200, 60_000)
  assert.equal(await save('video:playing'), 400)
  assert.ok(ours(/chrom/).length > 0, 'the browser waits for the next save')
  assert.equal(await node.stop(), 0)
  await nothingRuns()
})

it('a node killed outright leaves neither PostgreSQL nor Chromium, and loses nothing that was acknowledged', async () => {
  const node = await startNodeProcess(dataDir, settings)
  const create = ['account', 'create', '--email', 'last@b.example', '--plan', 'pro']
  assert.equal((await runJson(create, settings)).code, 0)
  assert.ok(ours(/postgres/).length > 0 && ours(/chrom/).length > 0, 'both are seen while they run')
  await node.kill()
  await nothingRuns()
  assert.match(JSON.stringify((await runJson(['account', 'list'], settings)).json), /last@b\.example/)
})

it('a node under npm ends with npm: 0 after SIGTERM, and also when npm itself is killed', async () => {
  const asked = await startByNpm()
  asked.npm.kill('SIGTERM')
  assert.deepEqual(await asked.ended, [0, null])
  await nothingRuns()

  const orphaned = await startByNpm()
  orphaned.npm.kill('SIGKILL')
  await nothingRuns()
  await assert.rejects(fetch(`${orphaned.api}/readyz`))
})

/** `npm start`, as its users have it. */
async function startByNpm() {
  const npm = spawn('npm', ['start', '--silent'], {
    cwd: path.resolve(import.meta.dirname, '../..'),
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [line] = (await once(createInterface(npm.stdout), 'line')) as [string]
  return { npm, ended: once(npm, 'exit'), api: (JSON.parse(line) as { api: string }).api }
}
