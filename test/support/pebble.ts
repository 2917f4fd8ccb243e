import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type http from 'node:http'
import https from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestAcme } from './acme-server.ts'
import { createTestCa } from './certificate-authority.ts'
import { until } from './condition.ts'
import { freePort } from './loopback.ts'

// Pebble, the test server of Let's Encrypt, as Debian packages it. Its name server maps every name to 127.0.0.1.

export async function startPebble(ports: { http: number; tls: number }): Promise<TestAcme> {
  const dir = mkdtempSync(path.join(tmpdir(), 'prepaint-pebble-'))
  const authority = createTestCa('Prepaint pebble front')
  const own = authority.leaf({ names: ['localhost'] })
  writeFileSync(path.join(dir, 'cert.pem'), own.chain)
  writeFileSync(path.join(dir, 'key.pem'), own.key)
  const [listen, management, dns, dnsManagement] = await Promise.all([1, 2, 3, 4].map(freePort))
  const configuration = {
    ...{ listenAddress: `127.0.0.1:${listen}`, managementListenAddress: `127.0.0.1:${management}` },
    ...{ certificate: path.join(dir, 'cert.pem'), privateKey: path.join(dir, 'key.pem') },
    ...{ httpPort: ports.http, tlsPort: ports.tls },
    ...{ ocspResponderURL: '', externalAccountBindingRequired: false },
  }
  writeFileSync(path.join(dir, 'config.json'), JSON.stringify({ pebble: configuration }))
  const off = ['http01', 'https01', 'tlsalpn01', 'defaultIPv6'].flatMap((name) => [`-${name}`, ''])
  const on = ['-dns01', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${dnsManagement}`]
  const names = run('pebble-challtestsrv', [...off, '-defaultIPv4', '127.0.0.1', ...on])
  const args = ['-config', path.join(dir, 'config.json'), '-strict', '-dnsserver', `127.0.0.1:${dns}`]
  // Rejects a third of all valid nonces.
  const pebble = run('pebble', args, { PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '33' })
  const get = async (port: number | undefined, at: string) => {
    const req = https.get(`https://localhost:${port}${at}`, { ca: authority.certificate, agent: false })
    const [res] = (await once(req, 'response')) as [http.IncomingMessage]
    return text(res)
  }
  const close = async () => {
    for (const { child, ended } of [pebble, names]) {
      child.kill('SIGKILL')
      await ended
    }
    rmSync(dir, { recursive: true })
  }
  try {
    await until('pebble answers', () => get(listen, '/dir'))
  } catch (error) {
    await close()
    throw new Error(`pebble did not start: ${pebble.said()} ${names.said()}`, { cause: error })
  }
  return {
    directoryUrl: `https://localhost:${listen}/dir`,
    ca: authority.certificate,
    root: () => get(management, '/roots/0'),
    close,
  }
}

function run(command: string, args: readonly string[], settings: Record<string, string> = {}) {
  const child: ChildProcess = spawn(command, args, {
    env: { PATH: process.env['PATH'], ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      said = (said + part).slice(-4_000)
    })
  }
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = once(child, 'exit').finally(() => process.off('exit', kill))
  ended.catch(() => {})
  return { child, ended, said: () => said }
}
