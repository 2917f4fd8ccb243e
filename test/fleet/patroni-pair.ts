import assert from 'node:assert/strict'
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { until } from '../support/condition.ts'
import { processesOf } from '../support/processes.ts'
import { hasProgram } from '../support/program.ts'

const RECIPE = path.resolve(import.meta.dirname, '../../docs/operations.md')
const HEADING = '### Patroni, etcd and HAProxy on Debian 12'
const BIN = '/usr/lib/postgresql/15/bin'
/** A pair needs a new member to be copied, or rewound, on a busy machine. */
const WITHIN_MS = 120_000

/** Whether all packages of the recipe are installed. Throws if one is missing and `PREPAINT_TEST_PEERS` is set. */
export function hasRecipePrograms(): boolean {
  const programs: [program: string, aptPackage: string][] = [
    ['etcd', 'etcd-server'],
    ['etcdctl', 'etcd-client'],
    ['patroni', 'patroni'],
    ['haproxy', 'haproxy'],
    [`${BIN}/postgres`, 'postgresql-15'],
  ]
  return programs.map(([program, aptPackage]) => hasProgram(program, aptPackage)).every(Boolean)
}

type Server = { name: string; dir: string; address: string; child: ChildProcess }

/**
 * The recipe of docs/operations.md, run as it stands there: etcd, two PostgreSQL servers under Patroni, and HAProxy. Its
 * addresses become loopback addresses of this run, so that all ports stay as written and nothing else has them. It has one
 * member of etcd instead of three.
 */
export class PatroniPair {
  /** What nodes have as DATABASE_URL. */
  readonly url: string
  readonly #dir: string
  readonly #user: { uid: number; gid: number } | null
  readonly #net: string
  readonly #recipe = readRecipe()
  readonly #servers: Server[] = []
  readonly #others: ChildProcess[] = []
  #said = ''

  static async start(): Promise<PatroniPair> {
    const pair = new PatroniPair()
    try {
      await pair.#start()
      return pair
    } catch (error) {
      await pair.close()
      throw new Error(`the recipe does not work; its programs said:\n${pair.#said}`, { cause: error })
    }
  }

  private constructor() {
    this.#dir = mkdtempSync(path.join(tmpdir(), 'prepaint-failover-'))
    chmodSync(this.#dir, 0o755)
    this.#user = process.getuid?.() === 0 ? postgresUser() : null
    // 127.x.y.0/24, of which the kernel lets any program use any address.
    const [high, low] = [2, 3].map(() => 1 + Math.floor(Math.random() * 250))
    this.#net = `127.${high}.${low}`
    this.url = this.#here(/^`DATABASE_URL=(\S+)`/m.exec(this.#recipe)?.[1] ?? '')
    // Also when a test fails before it can close this.
    process.once('exit', () => this.#killAll())
  }

  /** Resolves with the name of the primary server, once there is one. */
  primary(): Promise<string> {
    return until('there is a primary server', async () => (await this.#member('/primary'))?.name, WITHIN_MS)
  }

  /** Resolves when the other server follows the primary server synchronously, so that this one may be lost. */
  async isWhole(): Promise<void> {
    await until('there is a synchronous standby', () => this.#member('/synchronous'), WITHIN_MS)
  }

  /** SIGKILL to the primary server and its Patroni at once, as when a machine loses power. */
  async killPrimary(): Promise<string> {
    const server = await until('there is a primary server', () => this.#member('/primary'), WITHIN_MS)
    killProcessesOf(server.dir)
    return server.name
  }

  /** Starts the Patroni of a machine again, which brings its server up as a standby. */
  returnServer(name: string): void {
    const server = this.#servers.find((one) => one.name === name)!
    server.child = this.#run(server.dir, 'patroni', [path.join(server.dir, 'config.yml')])
  }

  /** Asks Patroni to make the standby the primary server, as an operator does. */
  async switchOver(): Promise<void> {
    const [program = '', ...args] = this.#line(/^ {4}patronictl .*$/m).split(' ')
    const config = path.join(this.#servers[0]!.dir, 'config.yml')
    const given = args.map((arg) => (arg === '/etc/patroni/config.yml' ? config : arg))
    await promisify(execFile)(program, given, { env: { ...process.env, LC_ALL: 'C.UTF-8' } })
  }

  async close(): Promise<void> {
    const ends = [...this.#servers.map(({ child }) => child), ...this.#others].map(async (child) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    })
    await Promise.all(ends)
    this.#killAll()
    await until('all processes have ended', () => processesOf(this.#dir).length === 0)
    rmSync(this.#dir, { recursive: true, force: true })
  }

  async #start(): Promise<void> {
    const etcd = this.#block('sh').replace(/^(ETCD_INITIAL_CLUSTER=[^,\n]*).*$/m, '$1')
    const etcdDir = this.#makeDir('etcd')
    const env = Object.fromEntries(etcd.split('\n').map((line) => line.split(/=(.*)/s, 2)))
    this.#others.push(this.#run(etcdDir, 'etcd', ['--data-dir', etcdDir], env))

    for (const number of [1, 2]) {
      const name = `db${number}`
      const dir = this.#makeDir(name)
      const file = path.join(dir, 'config.yml')
      writeFileSync(file, this.#patroniConfig(dir, number), { mode: 0o644 })
      const address = `${this.#net}.${number}`
      this.#servers.push({ name, dir, address, child: this.#run(dir, 'patroni', [file]) })
      await this.primary()
    }
    await this.isWhole()

    const haproxyDir = this.#makeDir('haproxy')
    const haproxyFile = path.join(haproxyDir, 'haproxy.cfg')
    writeFileSync(haproxyFile, this.#block('haproxy'), { mode: 0o644 })
    this.#others.push(this.#run(haproxyDir, 'haproxy', ['-f', haproxyFile]))
    const makeDatabase = this.#line(/^ {4}psql .*$/m)
    await until(
      'user and database are made',
      () => {
        const made = spawnSync('sh', ['-c', makeDatabase], {
          encoding: 'utf8',
          env: { PATH: `${BIN}:${process.env['PATH']}`, PGPASSWORD: 'SECRET', PGCONNECT_TIMEOUT: '5' },
        })
        assert.equal(made.status, 0, made.stderr)
        return true
      },
      WITHIN_MS,
    )
  }

  /** What one machine gives to two servers is theirs alone: directory and socket. */
  #patroniConfig(dir: string, number: number): string {
    const first = this.#block('yaml')
    const own = number === 1 ? first : first.replaceAll(`${this.#net}.1:`, `${this.#net}.${number}:`)
    return own
      .replace('name: db1', `name: db${number}`)
      .replace(/^( +hosts: [^,\n]*).*$/m, '$1')
      .replace(/^ {2}data_dir: .*$/m, `  data_dir: ${dir}/data`)
      .replace(/^ {2}pg_hba:$/m, `  parameters: { unix_socket_directories: ${dir} }\n  pg_hba:`)
      .replaceAll(`${this.#net}.0/24`, '127.0.0.0/8')
  }

  /** The block of the recipe in this language, with the addresses of this run. */
  #block(language: string): string {
    const found = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(this.#recipe)
    assert(found !== null, `${RECIPE} has no block ${language}`)
    return this.#here(found[1]!)
  }

  #line(pattern: RegExp): string {
    const found = pattern.exec(this.#recipe)
    assert(found !== null, `${RECIPE} has no line ${pattern}`)
    return this.#here(found[0].trim())
  }

  /** HAProxy stands on each machine with Prepaint, whose address is 127.0.0.1. */
  #here(text: string): string {
    return text.replaceAll('10.0.0.', `${this.#net}.`).replaceAll('127.0.0.1', `${this.#net}.100`)
  }

  #makeDir(name: string): string {
    const dir = path.join(this.#dir, name)
    mkdirSync(dir, { mode: 0o700 })
    if (this.#user !== null) chownSync(dir, this.#user.uid, this.#user.gid)
    return dir
  }

  /** Runs a program whose home is `dir`. */
  #run(
    dir: string,
    program: string,
    args: readonly string[],
    env: Record<string, string> = {},
  ): ChildProcess {
    const child = spawn(program, args, {
      ...this.#user,
      cwd: dir,
      env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', HOME: dir, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#said = (this.#said + text).slice(-64 * 1024)
      })
    }
    child.once('error', (error) => {
      this.#said += `${program}: ${error.message}\n`
    })
    return child
  }

  /** The server whose Patroni answers 200 there. */
  async #member(route: '/primary' | '/synchronous'): Promise<Server | null> {
    for (const server of this.#servers) {
      const signal = AbortSignal.timeout(2_000)
      const answer = await fetch(`http://${server.address}:8008${route}`, { signal }).catch(() => null)
      if (answer?.status === 200) return server
    }
    return null
  }

  #killAll(): void {
    killProcessesOf(this.#dir)
  }
}

function readRecipe(): string {
  const text = readFileSync(RECIPE, 'utf8')
  const from = text.indexOf(HEADING)
  assert(from >= 0, `${RECIPE} has no section "${HEADING}"`)
  return text.slice(from, text.indexOf('\n### ', from + 1))
}

/** Debian's owner of PostgreSQL's data: neither Patroni nor PostgreSQL runs as root. */
function postgresUser(): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

function killProcessesOf(dir: string): void {
  for (const { pid } of processesOf(dir)) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
}
