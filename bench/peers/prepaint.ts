import type { RenderView } from '@prepaint/pages/queue/judging/render-records.ts'
import manifest from '../../package.json' with { type: 'json' }
import type { Program } from '../../test/support/command-line.ts'
import { edgeRequest, GOOGLEBOT } from '../../test/support/edge-request.ts'
import type { NodeProcess } from '../../test/support/node-process.ts'
import { callApi } from '../../test/support/tenant.ts'
import { startDomainNode } from '../program/domain-node.ts'
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
  const host = `${site.name}.example`
  const domain = { customDomain: host, originUrl: site.originUrl }
  const { node, key, close } = await startDomainNode(program, settings, domain)
  return {
    name: 'prepaint',
    version: manifest.version,
    pid: node.pid,
    node,
    key,
    async render(path) {
      const answer = await edgeRequest(node.edge, { host, path, userAgent: GOOGLEBOT })
      return { status: answer.status, html: answer.body.toString(), fresh: answer.verdict === 'rendered' }
    },
    async lastRenders() {
      const { body } = await callApi(node, key, { method: 'GET', path: `/api/domains/${host}/renders` })
      return body['renders'] as RenderView[]
    },
    close,
  }
}
