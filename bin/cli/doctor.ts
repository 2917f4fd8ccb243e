import { systemClock } from '@prepaint/runtime/clock.ts'
import { type Commands, defineCommand } from '../command-line/command.ts'
import {
  type CheckResult,
  dataDirectory,
  diskSpace,
  memory,
  nodeVersion,
  userNamespaces,
} from './doctor/machine.ts'
import {
  acmeDirectory,
  bodyStore,
  browserWorks,
  databaseWorks,
  edgeSnapshot,
  email,
  masterKey,
  portFree,
  singleSignOn,
  tlsPort,
} from './doctor/services.ts'

const doctor = defineCommand({
  options: {},
  async run(_values, { config }) {
    const { api, edge, render, dataDir, roles } = config
    const renders = roles.has('render')
    const dataDirCheck = dataDirectory(dataDir)
    const findings = [
      nodeVersion(process.versions.node),
      memory(process.availableMemory(), renders ? render.slots : 0),
      dataDirCheck,
      diskSpace(dataDir),
    ]
    // Database and browser need the data directory and would repeat its problem.
    if (dataDirCheck.state !== 'problem') {
      findings.push(...(await databaseWorks(config)))
      if (renders) findings.push(await browserWorks(config))
    }
    if (renders) findings.push(userNamespaces())
    findings.push(await portFree({ ...api, setting: 'PREPAINT_API' }))
    if (roles.has('edge')) {
      findings.push(await portFree({ host: edge.host, port: edge.port, setting: 'PREPAINT_EDGE' }))
      findings.push(await tlsPort(config))
      findings.push(await acmeDirectory(config))
      if (dataDirCheck.state !== 'problem') findings.push(edgeSnapshot(config, systemClock.nowMs()))
    }
    findings.push(masterKey(config))
    if (roles.has('api')) findings.push(email(config), await singleSignOn(config))
    findings.push(await bodyStore(config))
    const good = findings.every(({ state }) => state !== 'problem')
    return { json: { ok: good, checks: findings }, text: report(findings), exitCode: good ? 0 : 1 }
  },
})

function report(findings: readonly CheckResult[]): string {
  const width = Math.max(...findings.map(({ name }) => name.length))
  const lines: string[] = []
  for (const { name, state, found, advice } of findings) {
    lines.push(`${state.padEnd(7)}  ${name.padEnd(width)}  ${found}`)
    if (advice !== null) lines.push(`${' '.repeat(9 + width + 2)}-> ${advice}`)
  }
  const problems = findings.filter(({ state }) => state === 'problem').length
  const words =
    problems === 0
      ? 'Prepaint can run here.'
      : `Prepaint cannot run here: ${problems} of these checks found a problem.`
  return `${lines.join('\n')}\n\n${words}`
}

export const commands: Commands = {
  doctor: doctor,
}
