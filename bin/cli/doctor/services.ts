import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { checkBrowser } from '@prepaint/engine/browser'
import { BodiesRefused, checkStore } from '@prepaint/pages/store/bodies/check.ts'
import { S3Client } from '@prepaint/pages/store/bodies/s3-client.ts'
import { shownAddress } from '@prepaint/pages/store/bodies/store-address.ts'
import { GivenServer, openDatabase } from '@prepaint/postgres/database.ts'
import { readShape, type TableShape } from '@prepaint/postgres/domain-partitions.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { reasonOf, SingleSignOn, SSO_CALLBACK } from '@prepaint/service/accounts/sign-in/single-sign-on.ts'
import { Transport } from '@prepaint/service/certificates/acme/transport.ts'
import { databaseOf } from '@prepaint/service/snapshot/edge-snapshot.ts'
import { readSummary, type SnapshotSummary, snapshotPath } from '@prepaint/service/snapshot/snapshot-file.ts'
import { missingSpace, restoreCost } from '../../command-line/restore-cost.ts'
import { explained, type ListenWhere } from '../../node/listen.ts'
import { SCHEMA } from '../../node/schema.ts'
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

/** Without e-mail an inviter holds the link of an invitation, and finds out by using it whether the address has a login. */
export function email({ mail }: Pick<Config, 'mail'>): CheckResult {
  const name = 'e-mail'
  if (mail !== null) return ok(name, 'configured')
  return warning(
    name,
    'not configured: who invites a person gets the link',
    'Where accounts do not trust each other, set PREPAINT_SMTP_URL, PREPAINT_MAIL_FROM and PREPAINT_PUBLIC_URL',
  )
}

/** Asks the provider for its endpoints, as the first sign-in of a node does. */
export async function singleSignOn({
  sso,
  publicUrl,
}: Pick<Config, 'sso' | 'publicUrl'>): Promise<CheckResult> {
  const name = 'single sign-on'
  if (sso === null || publicUrl === null) return ok(name, 'off: PREPAINT_OIDC_ISSUER is not set')
  try {
    await new SingleSignOn(sso, publicUrl, systemClock, silentLog()).check()
    return ok(name, `${sso.issuer} responds; its redirect address is ${publicUrl}${SSO_CALLBACK}`)
  } catch (error) {
    const found = `${sso.issuer}: ${reasonOf(error)}`
    const advice = 'Check PREPAINT_OIDC_ISSUER and the connection to it; nobody can sign in by it'
    return sso.isOnly ? problem(name, found, advice) : warning(name, found, advice)
  }
}

const GIVEN_SERVER_TIMEOUT_MS = 3_000

/** Looks at the tables, too, if there are any. */
export async function databaseWorks({ databaseUrl, dataDir }: Config): Promise<CheckResult[]> {
  const name = databaseUrl === null ? 'PostgreSQL (private)' : 'PostgreSQL (DATABASE_URL)'
  const exists = databaseUrl !== null || existsSync(path.join(dataDir, 'postgres'))
  try {
    const { version, tables, pages } = await withTrialDirectory(dataDir, exists, (dir) =>
      lookAtDatabase(databaseUrl, dir),
    )
    const works = ok(name, exists ? version : `${version}, tried in a temporary directory`)
    if (tables === null || pages === null) return [works]
    return [works, tablesOfPages(tables, pages.rows, databaseUrl === null ? dataDir : null)]
  } catch (error) {
    const advice =
      databaseUrl === null
        ? 'Install Prepaint again without --omit=optional, or set DATABASE_URL to a PostgreSQL 15 or newer'
        : 'Check DATABASE_URL, and that the server runs and accepts this user'
    return [problem(name, (error as Error).message, advice)]
  }
}

/** Then autovacuum of one table takes long. */
const DIVIDED_FROM_PAGES = 1_000_000

/** `dir`: that of the private PostgreSQL; null for another server, whose disk cannot be seen. */
export function tablesOfPages(shape: TableShape, pages: number, dir: string | null): CheckResult {
  const name = 'tables of pages'
  const about = `about ${Math.round(pages).toLocaleString('en')} pages`
  if (shape.isDivided) return ok(name, `divided by domain, ${about}`)
  const found = `whole, because an older version made them, ${about}`
  if (pages < DIVIDED_FROM_PAGES) return ok(name, found)
  const missing = dir === null ? null : missingSpace(shape, dir)
  const space = missing === null ? '' : `; ${missing}`
  const advice = `Backup and restore into an empty database divide them: that takes ${restoreCost(shape)}${space} (docs/operations.md)`
  return warning(name, found, advice)
}

type FoundDatabase = { version: string; tables: TableShape | null; pages: TableShape | null }

async function lookAtDatabase(databaseUrl: string | null, dataDir: string): Promise<FoundDatabase> {
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
    return {
      version: rows[0]?.version ?? 'unknown version',
      tables: await readShape(database.pool, SCHEMA.divided),
      pages: await readShape(database.pool, ['page']),
    }
  } finally {
    await database.close()
  }
}

/** Puts an object, reads it and deletes it, as each start of a node does. */
export async function bodyStore({ bodies }: Pick<Config, 'bodies'>): Promise<CheckResult> {
  const name = 'bodies'
  if (bodies === null) return ok(name, 'in PostgreSQL: PREPAINT_BODIES is not set')
  const client = new S3Client(bodies)
  try {
    await checkStore(client, bodies)
    return ok(name, `${shownAddress(bodies)} takes, gives and deletes objects`)
  } catch (error) {
    if (error instanceof BodiesRefused) {
      return problem(name, error.message, 'See "Bodies in an object store" in docs/operations.md')
    }
    const found = `${shownAddress(bodies)} does not answer: ${(error as Error).message}`
    return warning(name, found, 'Nodes start, and put bodies into PostgreSQL until it answers')
  } finally {
    client.close()
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
