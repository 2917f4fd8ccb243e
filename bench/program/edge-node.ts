import { createTestCa } from '../../test/support/certificate-authority.ts'
import type { Program } from '../../test/support/command-line.ts'
import { until } from '../../test/support/condition.ts'
import { edgeRequest, GOOGLEBOT } from '../../test/support/edge-request.ts'
import type { NodeProcess } from '../../test/support/node-process.ts'
import { callApi } from '../../test/support/tenant.ts'
import { type DomainNode, startDomainNode } from './domain-node.ts'

const EDGE_HOST = 'shop.example'

/** A whole node that has `EDGE_HOST` with a certificate, and its pages in memory. */
export type EdgeNode = DomainNode & { port: number; tlsPort: number }

/** `paths`: pages that are rendered before. `settings`: none, unless the table of the results says so. */
export async function startEdgeNode(
  program: Program,
  {
    originUrl,
    paths,
    settings = {},
  }: { originUrl: string; paths: readonly string[]; settings?: Record<string, string> },
): Promise<EdgeNode> {
  const domain = { customDomain: EDGE_HOST, originUrl }
  const started = await startDomainNode(program, settings, domain, async (node, key) => {
    await giveCertificate(node, key)
    for (const path of paths) await renderUntilHit(node.edge, path)
  })
  const { edge, edgeTls } = started.node
  return { ...started, port: Number(new URL(edge).port), tlsPort: Number(new URL(edgeTls).port) }
}

/** The same program on these cores only, with all processes that it starts. */
export function pinned(program: Program, cores: string): Program {
  return { ...program, command: ['taskset', '-c', cores, ...program.command] }
}

async function giveCertificate(node: NodeProcess, key: string): Promise<void> {
  const { chain, key: privateKey } = createTestCa().leaf({ names: [EDGE_HOST] })
  const answer = await callApi(node, key, {
    method: 'PUT',
    path: `/api/domains/${EDGE_HOST}/certificate`,
    body: { certificate_chain: chain, private_key: privateKey },
  })
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
}

async function renderUntilHit(edge: string, path: string): Promise<void> {
  await until(
    `a hit of ${path}`,
    async () => {
      const { verdict } = await edgeRequest(edge, { host: EDGE_HOST, path, userAgent: GOOGLEBOT })
      return verdict.startsWith('hit')
    },
    60_000,
  )
}
