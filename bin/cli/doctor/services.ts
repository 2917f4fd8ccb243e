import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { checkBrowser } from '@prepaint/engine/browser'
import { GivenServer, openDatabase } from '@prepaint/postgres/database.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { Transport } from '@prepaint/service/certificates/acme/transport.ts'
import { databaseOf } from '@prepaint/service/snapshot/edge-snapshot.ts'
import { readSummary, type SnapshotSummary, snapshotPath } from '@prepaint/service/snapshot/snapshot-file.ts'
import { explained, type ListenWhere } from '../../node/listen.ts'
import type { Config } from '../../settings/config.ts'
import { type CheckResult, ok, problem, warning } from './machine.ts'

export async function browserWorks({ dataDir, render }: Config): Promise<CheckResult> {
  try {
    return await withTrialDirectory(dataDir, existsSync(dataDir), (dir) => tryBrowser(render, dir))
  } catch (error) {
    const advice = 'apt-get install chromium-headless-shell, or set PREPAINT_CHROMIUM to a browser that runs'
    return problem('Chromium', (error as Error).message.split('\n')[0] ?? '', advice)
  }
}

async function tryBrowser(render: Config['render'], dataDir: string): Promise<CheckResult> {
  const browser = await checkBrowser({ chromium: render.chromium, dataDir })
  const open = browser.data === 'open' ? '; an exploit could read the data directory' : ''
  const found = `${browser.product} (${browser.source}), sandbox ${browser.sandbox}${open}`
  const { faster } = browser
  if (browser.sandbox === 'on' && faster === null) return ok('Chromium', found)
  if (browser.sandbox === 'on')
    return warning('Chromium', found, `A headless shell renders in half the time: ${faster}`)
  const advice =
    browser.data === 'closed'
      ? 'See "user namespaces" here and "Sandbox" in docs/operations.md; until then, render only sites that you trust'
      : 'Start the node as root, or see "user namespaces" here and "Sandbox" in docs/operations.md; until then, render only sites that you trust'
  return render.requireSandbox
    ? problem('Chromium', `${found}, but PREPAINT_REQUIRE_SANDBOX=1 requires it`, advice)
    : warning('Chromium', found, advice)
}

const CA_TIMEOUT_MS = 5_000

export async function acmeDirectory(
  { acme, version }: Pick<Config, 'acme' | 'version'>,
  ca?: string,
): Promise<CheckResult> {
  const { directory, email } = acme
  const name = 'certificates (ACME)'
  if (directory === null) return ok(name, 'off: PREPAINT_ACME_DIRECTORY is not set')
  const transport = new Transport({ userAgent: `Prepaint/${version}`, timeoutMs: CA_TIMEOUT_MS, ca })
  const advice =
    'Check PREPAINT_ACME_DIRECTORY and the connection to it; for a private CA, set NODE_EXTRA_CA_CERTS to its root'
  try {
    const signal = AbortSignal.timeout(2 * CA_TIMEOUT_MS)
    const { status, body } = await transport.send({ method: 'GET', url: directory, signal })
    if (status !== 200 || !body.includes('newOrder')) {
      return problem(name, `${directory} is not the directory of a CA (status ${status})`, advice)
    }
  } catch (error) {
    return problem(name, `${directory}: ${(error as Error).message}`, advice)
  }
  if (email !== null) return ok(name, `${directory} responds`)
  return warning(name, `${directory} responds`, 'Set PREPAINT_ACME_EMAIL, so that the CA can contact you')
}

/** Free, or used by a running node. Without a certificate the port itself does not identify the node. */
export async function tlsPort({ edge }: Pick<Config, 'edge'>): Promise<CheckResult> {
  const { host, port, tlsPort: at, tlsPortGiven } = edge
  const finding = await portFree({ host, port: at, setting: 'PREPAINT_EDGE_TLS' })
  if (finding.state !== 'problem') return finding
  if (await isNode({ host, port, setting: 'PREPAINT_EDGE' })) {
    return ok(finding.name, 'in use, and a running node responds at PREPAINT_EDGE_PORT')
  }
  return tlsPortGiven ? finding : warning(finding.name, finding.found, finding.advice ?? '')
}

export function masterKey({
  secretKeys,
  databaseUrl,
}: Pick<Config, 'secretKeys' | 'databaseUrl'>): CheckResult {
  const name = 'master key'
  if (secretKeys !== null) return ok(name, 'PREPAINT_SECRET_KEY')
  if (databaseUrl === null) return ok(name, 'a file in the data directory, created when needed')
  return warning(
    name,
    'a file in the data directory of this node only',
    'If several nodes share DATABASE_URL, set the same PREPAINT_SECRET_KEY on all (openssl rand -base64 32)',
  )
}

const GIVEN_SERVER_TIMEOUT_MS = 3_000

export async function databaseWorks({ databaseUrl, dataDir }: Config): Promise<CheckResult> {
  const name = databaseUrl === null ? 'PostgreSQL (private)' : 'PostgreSQL (DATABASE_URL)'
  const exists = databaseUrl !== null || existsSync(path.join(dataDir, 'postgres'))
  try {
    const version = await withTrialDirectory(dataDir, exists, (dir) => versionOf(databaseUrl, dir))
    return ok(name, exists ? version : `${version}, tried in a temporary directory`)
  } catch (error) {
    const advice =
      databaseUrl === null
        ? 'Install Prepaint again without --omit=optional, or set DATABASE_URL to a PostgreSQL 15 or newer'
        : 'Check DATABASE_URL, and that the server runs and accepts this user'
    return problem(name, (error as Error).message, advice)
  }
}

async function versionOf(databaseUrl: string | null, dataDir: string): Promise<string> {
  const database = await openDatabase({
    databaseUrl,
    dataDir,
    attach: true,
    waitMs: GIVEN_SERVER_TIMEOUT_MS,
    log: silentLog(),
  })
  try {
    if (databaseUrl !== null) await new GivenServer(databaseUrl).checkPooler()
    const { rows } = await database.pool.query<{ version: string }>(
      `select current_setting('server_version') as version`,
    )
    return rows[0]?.version ?? 'unknown version'
  } finally {
    await database.close()
  }
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** How large and how old the domains are that an edge falls back on. */
export function edgeSnapshot(
  {
    dataDir,
    databaseUrl,
    edge,
  }: Pick<Config, 'dataDir' | 'databaseUrl'> & { edge: { snapshotHours: number } },
  atMs: number,
): CheckResult {
  const name = 'snapshot of domains'
  if (edge.snapshotHours === 0) return ok(name, 'off: PREPAINT_SNAPSHOT_HOURS is 0')
  let summary: SnapshotSummary | null
  try {
    summary = readSummary(dataDir)
  } catch (error) {
    const found = `${snapshotPath(dataDir)} cannot be read: ${(error as Error).message}`
    return warning(
      name,
      found,
      'A node sets a damaged file aside and makes it anew; check its owner and the disk',
    )
  }
  if (summary === null) return ok(name, 'none yet: a node makes it after its first start')
  const ageMs = Math.max(0, atMs - summary.asOfMs)
  const found = `${summary.domains} domains, ${Math.ceil(summary.bytes / 1024)} KiB, ${durationText(ageMs)} old`
  if (databaseUrl !== null && databaseOf(new GivenServer(databaseUrl).connection) !== summary.database) {
    return warning(
      name,
      `${found}, of another database`,
      'A node makes it anew when it has reached DATABASE_URL',
    )
  }
  if (ageMs > edge.snapshotHours * HOUR_MS) {
    const advice = `Older than PREPAINT_SNAPSHOT_HOURS (${edge.snapshotHours}): no node starts from it while PostgreSQL is away. It is written while a node runs and reaches PostgreSQL`
    return warning(name, found, advice)
  }
  return ok(name, found)
}

function durationText(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${Math.floor(ms / 1_000)} s`
  if (ms < 2 * HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min`
  return `${Math.floor(ms / HOUR_MS)} h`
}

const NODE_TIMEOUT_MS = 2_000

export async function portFree(where: ListenWhere): Promise<CheckResult> {
  const name = `port ${where.port} (${where.setting}_PORT)`
  if (where.port === 0) return ok(`${where.setting}_PORT`, 'a free port will be used')
  const error = await tryToListen(where)
  if (error === null) return ok(name, `free on ${where.host}`)
  if (await isNode(where)) return ok(name, 'a running node responds there')
  return problem(name, `cannot be opened (${error.code})`, explained(error, where).message)
}

export async function isFree(where: { host: string; port: number }): Promise<boolean> {
  return (await tryToListen(where)) === null
}

function tryToListen({ host, port }: { host: string; port: number }): Promise<NodeJS.ErrnoException | null> {
  const server = http.createServer()
  return new Promise((resolve) => {
    server.once('error', resolve)
    server.listen({ host, port }, () => server.close(() => resolve(null)))
  })
}

/** Returns the host of a URL that leads to a server which listens on `host`. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}

async function isNode({ host, port, setting }: ListenWhere): Promise<boolean> {
  try {
    const answer = await fetch(`http://${reachableHost(host)}:${port}/readyz`, {
      signal: AbortSignal.timeout(NODE_TIMEOUT_MS),
    })
    return setting === 'PREPAINT_API' ? answer.status < 600 : answer.headers.has('x-prepaint')
  } catch {
    return false
  }
}

/** Uses a temporary directory if there is no data directory. Mode 711, for the users of PostgreSQL and Chromium. */
async function withTrialDirectory<T>(
  dataDir: string,
  exists: boolean,
  work: (dir: string) => Promise<T>,
): Promise<T> {
  if (exists) return work(dataDir)
  const trial = mkdtempSync(path.join(tmpdir(), 'prepaint-doctor-'))
  chmodSync(trial, 0o711)
  try {
    return await work(trial)
  } finally {
    rmSync(trial, { recursive: true, force: true })
  }
}
