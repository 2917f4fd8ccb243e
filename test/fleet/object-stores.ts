import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import aws4 from 'aws4'
import { until } from '../support/condition.ts'
import { freePort } from '../support/loopback.ts'
import { processesOf } from '../support/processes.ts'
import { hasProgram } from '../support/program.ts'

const run = promisify(execFile)
const WITHIN_MS = 60_000

type Key = { key: string; secret: string }

/** Programs with a directory of their own, which end with this process. */
class Programs {
  readonly dir: string
  readonly #children = new Map<string, ChildProcess>()
  #said = ''

  constructor(name: string) {
    this.dir = mkdtempSync(path.join(tmpdir(), `prepaint-${name}-`))
    process.once('exit', () => this.#killAll())
  }

  get said(): string {
    return this.#said.slice(-20_000)
  }

  makeDir(name: string): string {
    const dir = path.join(this.dir, name)
    mkdirSync(dir, { recursive: true })
    return dir
  }

  write(name: string, content: string): string {
    const file = path.join(this.dir, name)
    writeFileSync(file, content)
    return file
  }

  start(name: string, program: string, args: readonly string[]): void {
    const child = spawn(program, args, { cwd: this.dir, stdio: ['ignore', 'pipe', 'pipe'] })
    const note = (piece: string) => {
      this.#said += piece
    }
    child.stdout.setEncoding('utf8').on('data', note)
    child.stderr.setEncoding('utf8').on('data', note)
    this.#children.set(name, child)
  }

  async kill(name: string): Promise<void> {
    const child = this.#children.get(name)
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  signal(name: string, signal: NodeJS.Signals): void {
    this.#children.get(name)?.kill(signal)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#children.keys()].map((name) => this.kill(name)))
    this.#killAll()
    await until('all processes have ended', () => processesOf(this.dir).length === 0, WITHIN_MS)
    rmSync(this.dir, { recursive: true, force: true })
  }

  #killAll(): void {
    for (const { pid } of processesOf(this.dir)) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended.
      }
    }
  }
}

/** What the tests alone ask of a store: make a bucket, and list it. */
class Bucket {
  readonly name: string
  readonly #port: number
  readonly #key: Key

  constructor(name: string, port: number, key: Key) {
    this.name = name
    this.#port = port
    this.#key = key
  }

  get setting(): string {
    const { key, secret } = this.#key
    const user = `${encodeURIComponent(key)}:${encodeURIComponent(secret)}`
    return `s3+http://${user}@127.0.0.1:${this.#port}/${this.name}/pre/fix`
  }

  async make(): Promise<void> {
    const { status, text } = await this.#ask('PUT', `/${this.name}`)
    assert.equal(status, 200, text)
    // The first object makes pools, which takes longer than nodes wait.
    await until(
      'an object is stored',
      async () => (await this.#ask('PUT', `/${this.name}/first`)).status === 200,
      WITHIN_MS,
    )
    await this.#ask('DELETE', `/${this.name}/first`)
  }

  /** The names of all objects without the prefix of the setting, but for the store's id. */
  async objects(): Promise<string[]> {
    const names: string[] = []
    for (;;) {
      const after = names.length === 0 ? '' : `&marker=${encodeURIComponent(names.at(-1)!)}`
      const { status, text } = await this.#ask('GET', `/${this.name}?max-keys=1000${after}`)
      assert.equal(status, 200, text)
      names.push(...[...text.matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key!))
      if (!text.includes('<IsTruncated>true')) break
    }
    assert.ok(
      names.every((name) => name.startsWith('pre/fix/')),
      names.join(),
    )
    return names
      .map((name) => name.slice('pre/fix/'.length))
      .filter((name) => name !== 'prepaint-store')
      .sort()
  }

  async delete(object: string): Promise<void> {
    await this.#ask('DELETE', `/${this.name}/pre/fix/${object}`)
  }

  async overwrite(object: string, body: string): Promise<void> {
    await this.#ask('PUT', `/${this.name}/pre/fix/${object}`, body)
  }

  async #ask(method: string, where: string, body = ''): Promise<{ status: number; text: string }> {
    const { key, secret } = this.#key
    const signed = aws4.sign(
      { service: 's3', region: 'us-east-1', method, host: `127.0.0.1:${this.#port}`, path: where, body },
      { accessKeyId: key, secretAccessKey: secret },
    )
    const { Host: _, 'Content-Length': __, ...headers } = signed.headers as Record<string, string>
    const answer = await fetch(`http://127.0.0.1:${this.#port}${where}`, {
      method,
      headers,
      body: body || null,
    })
    return { status: answer.status, text: await answer.text() }
  }
}

const CEPH = [
  ['ceph-mon', 'ceph-mon'],
  ['ceph-osd', 'ceph-osd'],
  ['ceph-mgr', 'ceph-mgr'],
  ['radosgw', 'radosgw'],
] as const

/** Throws if a package is missing and `PREPAINT_TEST_PEERS` is set. */
export function hasCeph(): boolean {
  return CEPH.map(([program, aptPackage]) => hasProgram(program, aptPackage)).every(Boolean)
}

/** A Ceph cluster from nothing, with its data in memory, and its S3 gateway. It takes some 20 seconds. */
export class CephStore {
  readonly #programs = new Programs('ceph')
  readonly #config: string
  readonly #port: number
  readonly #key: Key = { key: 'prepaint', secret: randomUUID() }

  static async start(): Promise<CephStore> {
    const store = new CephStore(await freePort(), await freePort(), await freePort())
    try {
      await store.#start()
      return store
    } catch (error) {
      await store.close()
      throw new Error(`Ceph does not start; it said:\n${store.#programs.said}`, { cause: error })
    }
  }

  private constructor(v2: number, v1: number, port: number) {
    this.#port = port
    const { dir } = this.#programs
    this.#config = this.#programs.write(
      'ceph.conf',
      `[global]
fsid = ${randomUUID()}
mon host = [v2:127.0.0.1:${v2},v1:127.0.0.1:${v1}]
public addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
ms mon service mode = crc
ms mon cluster mode = crc
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon data avail crit = 0
mon data avail warn = 0
osd objectstore = memstore
memstore device bytes = 2147483648
run dir = ${dir}
admin socket = ${dir}/$name.asok
log file = ${dir}/$name.log
crash dir = ${dir}
mon data = ${dir}/mon
mgr data = ${dir}/mgr
osd data = ${dir}/osd
rgw data = ${dir}/rgw
mgr initial modules =
`,
    )
    for (const name of ['mon', 'mgr', 'osd', 'rgw']) this.#programs.makeDir(name)
  }

  async #start(): Promise<void> {
    const { dir } = this.#programs
    const config = ['--conf', this.#config]
    const text = /fsid = (\S+)\nmon host = (\S+)/.exec(
      await run('cat', [this.#config]).then(({ stdout }) => stdout),
    )!
    const map = path.join(dir, 'monmap')
    await run('monmaptool', ['--create', '--fsid', text[1]!, '--addv', 'a', text[2]!, map])
    await run('ceph-mon', [...config, '--mkfs', '-i', 'a', '--monmap', map])
    this.#programs.start('mon', 'ceph-mon', ['-f', ...config, '-i', 'a'])
    this.#programs.start('mgr', 'ceph-mgr', ['-f', ...config, '-i', 'x'])
    const disk = randomUUID()
    await run('ceph', [...config, '--connect-timeout', '30', 'osd', 'new', disk], { timeout: WITHIN_MS })
    await run('ceph-osd', [...config, '-i', '0', '--mkfs', '--osd-uuid', disk])
    this.#programs.start('osd', 'ceph-osd', ['-f', ...config, '-i', '0'])
    this.#startGateway()
    const { key, secret } = this.#key
    const user = ['user', 'create', '--uid=prepaint', '--display-name=prepaint']
    await run(
      'radosgw-admin',
      [...config, '-n', 'client.rgw', ...user, `--access-key=${key}`, `--secret=${secret}`],
      {
        timeout: WITHIN_MS,
      },
    )
    await this.#untilAnswers()
  }

  /** Without `tcp_nodelay`, each GET takes 40 ms more. */
  #startGateway(): void {
    const frontends = `beast endpoint=127.0.0.1:${this.#port} tcp_nodelay=1`
    this.#programs.start('gateway', 'radosgw', [
      '-f',
      '--conf',
      this.#config,
      '-n',
      'client.rgw',
      '--rgw-frontends',
      frontends,
    ])
  }

  async #untilAnswers(): Promise<void> {
    await until(
      'the gateway answers',
      () =>
        fetch(`http://127.0.0.1:${this.#port}`).then(
          ({ ok }) => ok,
          () => false,
        ),
      WITHIN_MS,
    )
  }

  get port(): number {
    return this.#port
  }

  async makeBucket(name: string): Promise<Bucket> {
    const bucket = new Bucket(name, this.#port, this.#key)
    await bucket.make()
    return bucket
  }

  /** The objects stay in the cluster. */
  killGateway(): Promise<void> {
    return this.#programs.kill('gateway')
  }

  async startGateway(): Promise<void> {
    this.#startGateway()
    await this.#untilAnswers()
  }

  close(): Promise<void> {
    return this.#programs.close()
  }
}

const SWIFT = [
  ['swift-proxy-server', 'swift-proxy'],
  ['swift-account-server', 'swift-account'],
  ['swift-container-server', 'swift-container'],
  ['swift-object-server', 'swift-object'],
] as const

/** Throws if a package is missing and `PREPAINT_TEST_PEERS` is set. */
export function hasSwift(): boolean {
  return SWIFT.map(([program, aptPackage]) => hasProgram(program, aptPackage)).every(Boolean)
}

/** OpenStack Swift with its S3 interface, one server of each kind. */
export class SwiftStore {
  readonly #programs = new Programs('swift')
  readonly #port: number
  readonly #ports: Record<'account' | 'container' | 'object', number>

  static async start(): Promise<SwiftStore> {
    const [proxy, account, container, object] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ]
    const store = new SwiftStore(proxy, { account, container, object })
    try {
      await store.#start()
      return store
    } catch (error) {
      await store.close()
      throw new Error(`Swift does not start; it said:\n${store.#programs.said}`, { cause: error })
    }
  }

  private constructor(port: number, ports: Record<'account' | 'container' | 'object', number>) {
    this.#port = port
    this.#ports = ports
  }

  async #start(): Promise<void> {
    const { dir } = this.#programs
    const devices = this.#programs.makeDir('devices')
    this.#programs.makeDir('devices/one')
    for (const [kind, port] of Object.entries(this.#ports)) {
      const builder = path.join(dir, `${kind}.builder`)
      await run('swift-ring-builder', [builder, 'create', '4', '1', '1'])
      await run('swift-ring-builder', [builder, 'add', `r1z1-127.0.0.1:${port}/one`, '1'])
      await run('swift-ring-builder', [builder, 'rebalance'])
      const file = this.#programs.write(
        `${kind}.conf`,
        `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
swift_dir = ${dir}
devices = ${devices}
mount_check = false
workers = 0
user = ${process.env['USER'] ?? 'root'}
recon_cache_path = ${dir}

[pipeline:main]
pipeline = ${kind}-server

[app:${kind}-server]
use = egg:swift#${kind}
`,
      )
      this.#programs.start(kind, `swift-${kind}-server`, [file, '-v'])
    }
    const proxy = this.#programs.write(
      'proxy.conf',
      `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${this.#port}
swift_dir = ${dir}
workers = 0
user = ${process.env['USER'] ?? 'root'}

[pipeline:main]
pipeline = catch_errors cache s3api tempauth bulk slo proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true

[filter:catch_errors]
use = egg:swift#catch_errors

[filter:cache]
use = egg:swift#memcache

[filter:s3api]
use = egg:swift#s3api
s3_acl = false

[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin

[filter:bulk]
use = egg:swift#bulk

[filter:slo]
use = egg:swift#slo
`,
    )
    this.#programs.start('proxy', 'swift-proxy-server', [proxy, '-v'])
    await until(
      'Swift answers',
      () =>
        fetch(`http://127.0.0.1:${this.#port}`).then(
          ({ status }) => status < 500,
          () => false,
        ),
      WITHIN_MS,
    )
  }

  get port(): number {
    return this.#port
  }

  async makeBucket(name: string): Promise<Bucket> {
    const bucket = new Bucket(name, this.#port, { key: 'test:tester', secret: 'testing' })
    await bucket.make()
    return bucket
  }

  close(): Promise<void> {
    return this.#programs.close()
  }
}
