import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { after, beforeEach, describe, it } from 'node:test'
import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createToken } from '@prepaint/service/accounts/keys.ts'
import { parse } from 'yaml'
import { openApi } from '../../test/support/api.ts'
import { serve } from '../../test/support/loopback.ts'

type Ran = { code: number | null; stdout: string; stderr: string; ms: number }
type Run = (paths: readonly string[], environment: Record<string, string>) => Promise<Ran>

const HERE = import.meta.dirname
const script = (name: string) => path.join(HERE, name)
const ALL = '--all'
const isInstalled = (program: string) => spawnSync(program, ['--version']).status === 0

/** As a runner of GitHub runs the step of a composite action: its expressions filled in, then `shell: bash`. */
const action: Run = async (paths, { PREPAINT_URL, PREPAINT_TOKEN, PREPAINT_WAIT_SECONDS }) => {
  const { inputs, runs } = parse(readFileSync(script('action.yml'), 'utf8')) as {
    inputs: Record<string, { default?: string }>
    runs: { using: string; steps: { shell: string; env: Record<string, string>; run: string }[] }
  }
  assert.equal(runs.using, 'composite')
  const [step] = runs.steps
  assert(step !== undefined && runs.steps.length === 1 && step.shell === 'bash')
  const given: Record<string, string | undefined> = {
    'inputs.url': PREPAINT_URL,
    'inputs.token': PREPAINT_TOKEN,
    'inputs.paths': paths[0] === ALL ? undefined : `${paths.join('\n')}\n`,
    'inputs.wait-seconds': PREPAINT_WAIT_SECONDS,
    'github.action_path': HERE,
  }
  const filledIn = (value: string) =>
    value.replace(/\$\{\{ ([\w.-]+) \}\}/g, (_, name: string) => {
      assert(name in given, `the step uses ${name}`)
      return given[name] ?? inputs[name.replace('inputs.', '')]?.default ?? ''
    })
  assert.doesNotMatch(step.run, /\$\{\{/, 'what others wrote reaches the shell as variables only')
  const dir = mkdtempSync(path.join(tmpdir(), 'prepaint-action-'))
  try {
    const file = path.join(dir, 'step.sh')
    writeFileSync(file, step.run)
    const environment = Object.entries(step.env).map(([name, value]) => [name, filledIn(value)])
    return await run(
      'bash',
      ['--noprofile', '--norc', '-eo', 'pipefail', file],
      Object.fromEntries(environment),
    )
  } finally {
    rmSync(dir, { recursive: true })
  }
}

const ways: Record<string, Run> = {
  'refresh.mjs': (paths, environment) =>
    run(process.execPath, [script('refresh.mjs'), ...paths], environment),
}
if (isInstalled('curl')) {
  ways['refresh.sh'] = (paths, environment) => run('sh', [script('refresh.sh'), ...paths], environment)
  if (isInstalled('bash')) ways['action.yml'] = action
}

const api = await openApi()
const owner = await api.account()
let domain: { id: DomainId; name: DomainName }
let environment: Record<string, string>
let domains = 0
beforeEach(async () => {
  domain = await api.domain(owner, `site-${++domains}.example.com`)
  const { token } = await createToken(api.pool, owner.id, domain.name, 'deploys', DEFAULT_PLANS)
  environment = { PREPAINT_URL: api.url, PREPAINT_TOKEN: token }
})

const queued = async () => {
  const { rows } = await api.pool.query<{ path: string }>(
    'select path from job where domain_id = $1 order by id',
    [domain.id],
  )
  return rows.map((row) => row.path)
}

for (const [name, refresh] of Object.entries(ways)) {
  describe(name, () => {
    it('queues the pages that it is given, whatever they hold, 20 a request', async () => {
      const odd = ['/', '/a%20b', '/*', `/"quoted"\\'$HOME;\`id\``, '/é']
      const paths = [...odd, ...Array.from({ length: 36 }, (_, at) => `/page-${at}`)]
      const { code, stdout, stderr } = await refresh(paths, environment)
      assert.deepEqual([code, stderr], [0, ''])
      assert.deepEqual(stdout.match(/(?<="pagesQueued":)\d+/g), ['20', '20', '1'])
      assert.equal((await queued()).length, 41)
      assert((await queued()).includes('/*'), 'no name of a file stands in for it')
    })

    it('queues all known pages, with a secret that ends in a line break', async () => {
      const pasted = { PREPAINT_URL: `${api.url}/`, PREPAINT_TOKEN: `${environment['PREPAINT_TOKEN']}\n` }
      const { code, stdout, stderr } = await refresh([ALL], pasted)
      assert.deepEqual([code, stderr], [0, ''])
      assert.match(stdout, /Started a full cache warm/)
    })

    it('1: refused, with what the API says', async () => {
      const wrong = await refresh(['/'], { ...environment, PREPAINT_TOKEN: 'pp_wh_wrong' })
      assert.equal(wrong.code, 1)
      assert.match(wrong.stderr, /refused \(401\): \{"error":"Invalid token"\}/)
    })

    it('2: called wrongly, and nothing is sent', async () => {
      const calls: [string[], Record<string, string>, RegExp][] = [
        [['/a', 'about'], {}, /begins with \/, and this does not: about/],
        [['/a', '--evry'], {}, /unknown option --evry/],
        [['/a', ALL], {}, /not both/],
        [['/a'], { PREPAINT_URL: '' }, /PREPAINT_URL is not set/],
        [['/a'], { PREPAINT_TOKEN: ' \n' }, /PREPAINT_TOKEN is not set/],
        [['/a'], { PREPAINT_WAIT_SECONDS: '5m' }, /PREPAINT_WAIT_SECONDS is not a number of seconds: 5m/],
      ]
      for (const [paths, changed, said] of calls) {
        const { code, stdout, stderr } = await refresh(paths, { ...environment, ...changed })
        assert.deepEqual([code, stdout], [2, ''], stderr)
        assert.match(stderr, said)
      }
      assert.deepEqual(await queued(), [])
    })

    it('tries again when it is told to, and shows the token to nobody', async () => {
      const { environment: served, asked } = await answering(429, 503, 200)
      const { code, stdout, stderr, ms } = await refresh(['/'], { ...environment, ...served })
      assert.equal(code, 0, stderr)
      assert(ms >= 2_000, `it took ${ms} ms`)
      assert.deepEqual(asked, Array(3).fill(`Bearer ${environment['PREPAINT_TOKEN']}`))
      assert.match(stdout, /^\{"message":"200"\}\s*$/)
      assert.equal((stdout + stderr).includes(environment['PREPAINT_TOKEN']!), false)
    })

    it('3: gives up at once when that is longer than it may wait', async () => {
      const { environment: served, asked } = await answering(429)
      const settings = { ...environment, ...served, PREPAINT_WAIT_SECONDS: '0' }
      const { code, stderr } = await refresh(['/a'], settings)
      assert.equal(code, 3, stderr)
      assert.match(stderr, /not now \(429\): \{"message":"429"\}/)
      assert.equal(asked.length, 1)
    })
  })
}

/** A server that answers so, one request after the other, and wants a second's pause. */
async function answering(...statuses: number[]) {
  const asked: (string | undefined)[] = []
  const { url: PREPAINT_URL, close } = await serve((req, res) => {
    const status = statuses[asked.push(req.headers.authorization) - 1]!
    req.resume()
    res.writeHead(status, { 'retry-after': '1' }).end(`{"message":"${status}"}`)
  })
  after(close)
  return { asked, environment: { PREPAINT_URL } }
}

async function run(command: string, args: string[], settings: Record<string, string>): Promise<Ran> {
  const startedMs = performance.now()
  const child = spawn(command, args, {
    // A directory with files in it, so that a path that the shell takes for a pattern would show.
    cwd: '/',
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('exit', resolve)
    child.once('error', reject)
  })
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { code, stdout, stderr, ms: performance.now() - startedMs }
}
