import type { RenderView } from '@prepaint/pages/queue/judging/render-records.ts'
import manifest from '../../package.json' with { type: 'json' }
import type { Program } from '../../test/support/command-line.ts'
import { clearDataDir, makeDataDir } from '../../test/support/data-dir.ts'
import { edgeRequest, GOOGLEBOT } from '../../test/support/edge-request.ts'
import { type NodeProcess, startNodeProcess } from '../../test/support/node-process.ts'
import { callApi, openAccount, registerDomain } from '../../test/support/tenant.ts'
import { packedProgram } from '../program/packed.ts'
import type { Service, Site } from './service.ts'

export type Prepaint = Service & {
  node: NodeProcess
  key: string
  lastRenders(): Promise<RenderView[]>
}

/** A whole node of the packaged program at its defaults, requested at its edge by a crawler. */
export async function startPrepaint(
  site: Site,
  settings: Record<string, string> = {},
  program: Program = packedProgram(),
): Promise<Prepaint> {
  const dataDir = makeDataDir()
  const host = `${site.name}.example`
  try {
    const node = await startNodeProcess(dataDir, settings, program)
    const { key } = await openAccount(node, { email: 'bench@example.com', plan: 'enterprise' })
    await registerDomain(node, key, { customDomain: host, originUrl: site.originUrl })
    return {
      name: 'prepaint',
      version: manifest.version,
      ...{ pid: node.pid, node, key },
      async render(path) {
        const answer = await edgeRequest(node.edge, { host, path, userAgent: GOOGLEBOT })
        return {
          status: answer.status,
          html: answer.body.toString(),
          fresh: answer.verdict === 'rendered',
        }
      },
      async lastRenders() {
        const { body } = await callApi(node, key, { method: 'GET', path: `/api/domains/${host}/renders` })
        return body['renders'] as RenderView[]
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
