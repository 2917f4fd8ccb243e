import { createTestCa } from '../support/certificate-authority.ts'
import type { Program } from '../support/command-line.ts'
import { until } from '../support/condition.ts'
import { clearDataDir, makeDataDir } from '../support/data-dir.ts'
import { edgeRequest, GOOGLEBOT } from '../support/edge-request.ts'
import { type NodeProcess, startNodeProcess } from '../support/node-process.ts'
import { callApi, openAccount, registerDomain } from '../support/tenant.ts'
import type { Server } from './flood-world.ts'

const FLOODED = 'flooded.example'
const WATCHED = 'watched.example'
/** Stored pages of the site that is looked after. */
export const PATHS = Array.from({ length: 20 }, (_, at) => `/stored-${at}`)

export type FloodNode = Server & { node: NodeProcess; close(): Promise<void> }

/** A whole node without pages in memory, in which all clients have limits, with the sites of two customers. */
export async function startFloodNode(originUrl: string, program?: Program): Promise<FloodNode> {
  const dataDir = makeDataDir()
  try {
    const settings = { PREPAINT_UNLIMITED_CLIENTS: 'none', PREPAINT_EDGE_MEMORY_BYTES: '0' }
    const node = await startNodeProcess(dataDir, settings, program)
    for (const host of [FLOODED, WATCHED]) await addSite(node, host, originUrl)
    for (const path of PATHS) await renderUntilHit(node.edge, path)
    return {
      name: 'Prepaint',
      node,
      pid: node.pid,
      port: portOf(node.edge),
      tlsPort: portOf(node.edgeTls),
      flooded: FLOODED,
      watched: WATCHED,
      storedPaths: PATHS,
      hasMisses: true,
      async close() {
        await node.stop()
        await clearDataDir(dataDir)
      },
    }
  } catch (error) {
    await clearDataDir(dataDir)
    throw error
  }
}

async function addSite(node: NodeProcess, host: string, originUrl: string): Promise<void> {
  const { key } = await openAccount(node, { email: `${host}@example.com`, plan: 'enterprise' })
  await registerDomain(node, key, { customDomain: host, originUrl })
  const { chain, key: privateKey } = createTestCa().leaf({ names: [host] })
  const answer = await callApi(node, key, {
    method: 'PUT',
    path: `/api/domains/${host}/certificate`,
    body: { certificate_chain: chain, private_key: privateKey },
  })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
}

async function renderUntilHit(edge: string, path: string): Promise<void> {
  const ask = async () => {
    const { verdict } = await edgeRequest(edge, { host: WATCHED, path, userAgent: GOOGLEBOT })
    return verdict.startsWith('hit')
  }
  await until(`a hit of ${path}`, ask, 60_000)
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}
