import { createTransport } from '../../src/certificates/acme-transport.ts'
import type { Config } from '../../src/config.ts'
import { type Finding, ok, problem, warning } from './finding.ts'
import { isNode, portFree } from './ports.ts'

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
