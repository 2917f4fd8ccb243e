import { existsSync } from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { createTransport } from '../../../src/certificates/acme/transport.ts'
import type { Config } from '../../../src/config.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { silentLog } from '../../../src/log.ts'
import { findBrowser } from '../../../src/render/browser/browser-binary.ts'
import { launchBrowser } from '../../../src/render/browser/browser-process.ts'
import { PAGE_LIMITS } from '../../../src/render/outcome.ts'
import { explained, type ListenWhere } from '../../node/listen.ts'
import { type Finding, ok, problem, warning, withTrialDirectory } from './finding.ts'

/** Starts the browser as a node would, and ends it. */
export async function browserWorks({ dataDir, render }: Config): Promise<Finding> {
  try {
    return await withTrialDirectory(dataDir, existsSync(dataDir), (dir) => tryBrowser(render, dir))
  } catch (error) {
    const advice = 'apt-get install chromium-headless-shell, or set PREPAINT_CHROMIUM to a browser that runs'
    return problem('Chromium', (error as Error).message.split('\n')[0] ?? '', advice)
  }
}

async function tryBrowser(render: Config['render'], dataDir: string): Promise<Finding> {
  const binary = await findBrowser({ chromium: render.chromium, dataDir })
  const options = {
    binary,
    dataDir,
    spkiHash: null,
    pageMemoryBytes: PAGE_LIMITS.memoryBytes,
    requireSandbox: false,
    log: silentLog(),
  }
  const browser = await launchBrowser(options)
  await browser.kill('doctor has seen it')
  const open = browser.data === 'open' ? '; what breaks out of it could read the data directory' : ''
  const found = `${browser.product} (${binary.source}), sandbox ${browser.sandbox}${open}`
  if (browser.sandbox === 'on') return ok('Chromium', found)
  const advice =
    browser.data === 'closed'
      ? 'see "user namespaces" here and "Sandbox" in README.md; until then, render no sites of strangers'
      : 'start the node as root, or see "user namespaces" here and "Sandbox" in README.md; until then, render no sites of strangers'
  return render.requireSandbox
    ? problem('Chromium', `${found}, and PREPAINT_REQUIRE_SANDBOX=1 asks for it`, advice)
    : warning('Chromium', found, advice)
}

const ANSWER_WITHIN_MS = 5_000

/** The CA that is named answers with a directory. `ca`: for tests. */
export async function acmeDirectory(
  { acme, version }: Pick<Config, 'acme' | 'version'>,
  ca?: string,
): Promise<Finding> {
  const { directory, email } = acme
  const name = 'certificates (ACME)'
  if (directory === null) return ok(name, 'off: PREPAINT_ACME_DIRECTORY names no CA')
  const transport = createTransport({
    userAgent: `Prepaint/${version}`,
    timeoutMs: ANSWER_WITHIN_MS,
    ...(ca !== undefined && { ca }),
  })
  const advice =
    'Check PREPAINT_ACME_DIRECTORY and the way out to it; NODE_EXTRA_CA_CERTS names the root of a private CA'
  try {
    const signal = AbortSignal.timeout(2 * ANSWER_WITHIN_MS)
    const { status, body } = await transport({ method: 'GET', url: directory, signal })
    if (status !== 200 || !body.includes('newOrder')) {
      return problem(name, `${directory} is no directory of a CA (status ${status})`, advice)
    }
  } catch (error) {
    return problem(name, `${directory}: ${(error as Error).message}`, advice)
  }
  if (email !== null) return ok(name, `${directory} answers`)
  return warning(
    name,
    `${directory} answers`,
    'Set PREPAINT_ACME_EMAIL, so that the CA can tell you of trouble',
  )
}

/** Free, or a running node's own: what answers without a certificate cannot be told from others. */
export async function tlsPort({ edge }: Pick<Config, 'edge'>): Promise<Finding> {
  const { host, port, tlsPort: at, tlsPortGiven } = edge
  const finding = await portFree({ host, port: at, setting: 'PREPAINT_EDGE_TLS' })
  if (finding.state !== 'problem') return finding
  if (await isNode({ host, port, setting: 'PREPAINT_EDGE' })) {
    return ok(finding.name, 'in use, and a running node answers at PREPAINT_EDGE_PORT')
  }
  return tlsPortGiven ? finding : warning(finding.name, finding.found, finding.advice ?? '')
}

/** Nodes that share a database share what seals its keys. */
export function masterKey({ secretKeys, databaseUrl }: Pick<Config, 'secretKeys' | 'databaseUrl'>): Finding {
  const name = 'master key'
  if (secretKeys !== null) return ok(name, 'PREPAINT_SECRET_KEY')
  if (databaseUrl === null) return ok(name, 'a file in the data directory, made when it is needed')
  return warning(
    name,
    'a file in the data directory of this node alone',
    'Where several nodes share DATABASE_URL, give all the same PREPAINT_SECRET_KEY (openssl rand -base64 32)',
  )
}

const GIVEN_SERVER_WAIT_MS = 3_000

/** Opens the database as a node would. */
export async function databaseWorks({ databaseUrl, dataDir }: Config): Promise<Finding> {
  const name = databaseUrl === null ? 'PostgreSQL (private)' : 'PostgreSQL (DATABASE_URL)'
  const exists = databaseUrl !== null || existsSync(path.join(dataDir, 'postgres'))
  try {
    const version = await withTrialDirectory(dataDir, exists, (dir) => versionOf(databaseUrl, dir))
    return ok(name, exists ? version : `${version}, tried in a temporary directory`)
  } catch (error) {
    const advice =
      databaseUrl === null
        ? 'Run "npm ci" again, or set DATABASE_URL to a PostgreSQL 15 or newer'
        : 'Check DATABASE_URL, and that the server runs and lets us in'
    return problem(name, (error as Error).message, advice)
  }
}

async function versionOf(databaseUrl: string | null, dataDir: string): Promise<string> {
  const database = await openDatabase({
    databaseUrl,
    dataDir,
    attach: true,
    waitMs: GIVEN_SERVER_WAIT_MS,
    log: silentLog(),
  })
  try {
    const { rows } = await database.pool.query<{ version: string }>(
      `select current_setting('server_version') as version`,
    )
    return rows[0]?.version ?? 'of an unknown version'
  } finally {
    await database.close()
  }
}

const NODE_ANSWER_WITHIN_MS = 2_000

/** Free, or taken by a node of ours that answers there. */
export async function portFree(where: ListenWhere): Promise<Finding> {
  const name = `port ${where.port} (${where.setting}_PORT)`
  if (where.port === 0) return ok(`${where.setting}_PORT`, 'a free one will be taken')
  const error = await tryToListen(where)
  if (error === null) return ok(name, `free on ${where.host}`)
  if (error.code === 'EADDRINUSE' && (await isNode(where))) return ok(name, 'a running node answers there')
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

/** The API answers /readyz; the edge, to a host that nobody registered, with its own 404. */
async function isNode({ host, port, setting }: ListenWhere): Promise<boolean> {
  const at = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  try {
    const answer = await fetch(`http://${at}:${port}/readyz`, {
      signal: AbortSignal.timeout(NODE_ANSWER_WITHIN_MS),
    })
    return setting === 'PREPAINT_API' ? answer.status < 600 : answer.headers.has('x-prepaint')
  } catch {
    return false
  }
}
