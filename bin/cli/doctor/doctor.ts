import { defineCommand } from '../../command-line/command.ts'
import type { Finding } from './finding.ts'
import { dataDirectory, diskSpace, memory, nodeVersion, userNamespaces } from './machine.ts'
import { acmeDirectory, browserWorks, databaseWorks, masterKey, portFree, tlsPort } from './services.ts'

/** Looks by trying: the database and the browser are started as a node in these roles starts them. */
export const doctor = defineCommand({
  options: {},
  async run(_values, { config }) {
    const { api, edge, render, dataDir, roles } = config
    const renders = roles.has('render')
    const dataDirFinding = dataDirectory(dataDir)
    const findings = [
      nodeVersion(process.versions.node),
      memory(process.availableMemory(), renders ? render.slots : 0),
      dataDirFinding,
      diskSpace(dataDir),
      // Both live in the data directory; where that cannot be used, they would only say so again.
      ...(dataDirFinding.state === 'problem'
        ? []
        : [await databaseWorks(config), ...(renders ? [await browserWorks(config)] : [])]),
      ...(renders ? [userNamespaces()] : []),
      await portFree({ ...api, setting: 'PREPAINT_API' }),
      ...(roles.has('edge')
        ? [
            await portFree({ host: edge.host, port: edge.port, setting: 'PREPAINT_EDGE' }),
            await tlsPort(config),
            await acmeDirectory(config),
          ]
        : []),
      masterKey(config),
    ]
    const good = findings.every(({ state }) => state !== 'problem')
    return { json: { ok: good, checks: findings }, text: report(findings), exitCode: good ? 0 : 1 }
  },
})

function report(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  const lines = findings.flatMap(({ name, state, found, advice }) => [
    `${state.padEnd(7)}  ${name.padEnd(width)}  ${found}`,
    ...(advice === null ? [] : [`${' '.repeat(9 + width + 2)}-> ${advice}`]),
  ])
  const problems = findings.filter(({ state }) => state === 'problem').length
  const words =
    problems === 0 ? 'Prepaint can run here.' : `${problems} of these must be solved before Prepaint can run.`
  return `${lines.join('\n')}\n\n${words}`
}
