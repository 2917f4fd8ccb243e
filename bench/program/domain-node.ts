import type { Program } from '../../test/support/command-line.ts'
import { clearDataDir, makeDataDir } from '../../test/support/data-dir.ts'
import { type NodeProcess, startNodeProcess } from '../../test/support/node-process.ts'
import { openAccount, registerDomain } from '../../test/support/tenant.ts'

export type DomainNode = {
  node: NodeProcess
  /** An API key of the domain's account. */
  key: string
  /** Ends the node and removes its data. */
  close(): Promise<void>
}

type NewDomain = { customDomain: string; originUrl: string }

/** Starts a whole node with an account that owns one domain. `prepare` ends the start with whatever a bench needs more. */
export async function startDomainNode(
  program: Program,
  settings: Record<string, string>,
  domain: NewDomain,
  prepare: (node: NodeProcess, key: string) => Promise<void> = async () => {},
): Promise<DomainNode> {
  const dataDir = makeDataDir()
  try {
    const node = await startNodeProcess(dataDir, settings, program)
    const { key } = await openAccount(node, { email: 'bench@example.com', plan: 'enterprise' })
    await registerDomain(node, key, domain)
    await prepare(node, key)
    return {
      node,
      key,
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
