import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, it } from 'node:test'
import { runJson, runPrepaint } from '../../test/support/command-line.ts'
import { until } from '../../test/support/condition.ts'
import { clearDataDir, makeDataDir } from '../../test/support/data-dir.ts'
import { type NodeProcess, startNodeProcess } from '../../test/support/node-process.ts'
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
const nothingRuns = () => until('nothing is left running', () => processesOf(dataDir).length === 0, 15_000)
after(async () => assert.deepEqual(await clearDataDir(dataDir), []))

it('a node says when it is ready, tells the truth on /readyz, ends with 0 on SIGTERM', async () => {
  const node = await startNodeProcess(dataDir, settings)
  assert.match(node.log(), /Creating the database/)
  const readyz = await fetch(`${node.api}/readyz`)
  assert.equal(readyz.status, 200)
  assert.deepEqual(await readyz.json(), { ready: true, state: 'serving', database: 'ok', browser: 'ok' })
  assert.equal((await fetch(node.edge)).status, 404)

  const second = await runPrepaint(['serve'], settings)
  assert.equal(second.code, 1)
  assert.match(second.stderr, /in use by another Prepaint/)

  assert.equal(await node.stop(), 0)
  assert.deepEqual(processesOf(dataDir), [])
  await assert.rejects(fetch(`${node.api}/readyz`))
})

it('a node finishes an answer that is under way before it ends', async () => {
  const node = await startNodeProcess(dataDir, { ...settings, PREPAINT_ROLES: 'api' })
  // A request whose body is still on its way: its answer must come, although no new one is taken.
  const request = http.request(`${node.api}/api/cache/purge`, {
    method: 'POST',
    headers: {
      ...{ 'x-api-key': 'none', 'content-type': 'application/json', 'content-length': 2 },
      // Asked for the body, its client knows that it has been read so far.
      expect: '100-continue',
    },
  })
  const answered = new Promise<number | undefined>((resolve, reject) => {
    request.once('response', (answer) => resolve(answer.resume().statusCode))
    request.once('error', reject)
  })
  request.flushHeaders()
  await once(request, 'continue')
  request.write('{')
  const ended = node.stop()
  await until('it takes no new request', async () => (await fetch(node.api).catch(() => null)) === null)
  request.end('}')
  assert.equal(await answered, 401)
  assert.equal(await ended, 0)
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
  const asked = await startByNpm(settings)
  asked.npm.kill('SIGTERM')
  assert.equal(await asked.status, 0)
  await nothingRuns()

  const orphaned = await startByNpm(settings)
  orphaned.npm.kill('SIGKILL')
  await nothingRuns()
  await assert.rejects(fetch(`${orphaned.api}/readyz`))
})

/** `npm start`, as its users have it. */
async function startByNpm(
  settings: Record<string, string>,
): Promise<Pick<NodeProcess, 'api'> & { npm: ChildProcess; status: Promise<number | null> }> {
  const npm = spawn('npm', ['start', '--silent'], {
    cwd: path.resolve(import.meta.dirname, '../..'),
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const status = new Promise<number | null>((resolve) => npm.once('exit', resolve))
  const ready = new Promise<{ api: string }>((resolve, reject) => {
    createInterface({ input: npm.stdout }).once('line', (line) =>
      resolve(JSON.parse(line) as { api: string }),
    )
    void status.then((code) => reject(new Error(`npm ended with ${code} before the node was ready`)))
  })
  return { npm, status, ...(await ready) }
}
