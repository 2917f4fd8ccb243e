import manifest from '../../package.json' with { type: 'json' }
import { edgeRequest, GOOGLEBOT } from '../../test/support/edge-request.ts'
import { clearDataDir, makeDataDir, startNodeProcess } from '../../test/support/node-process.ts'
import { openAccount, registerDomain } from '../../test/support/tenant.ts'
import type { Service, Site } from './service.ts'

/** A whole node at its defaults, with its PostgreSQL, asked at its edge by a crawler. */
export async function startPrepaint(site: Site): Promise<Service> {
  const dataDir = makeDataDir()
  const host = `${site.name}.example`
  try {
    const node = await startNodeProcess(dataDir)
    // The quota must not end a long run.
    const { key } = await openAccount(node, { email: 'bench@example.com', plan: 'enterprise' })
    await registerDomain(node, key, { customDomain: host, originUrl: site.originUrl })
    return {
      name: 'prepaint',
      version: manifest.version,
      pid: node.pid,
      async render(path) {
        const answer = await edgeRequest(node.edge, { host, path, userAgent: GOOGLEBOT })
        return {
          status: answer.status,
          html: answer.body.toString(),
          fresh: answer.verdict === 'rendered',
        }
      },
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
