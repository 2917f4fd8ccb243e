import { spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'

import { until } from '../../test/support/condition.ts'
import { listProcesses, processTree } from '../../test/support/processes.ts'
import type { GivenBrowser } from './service.ts'

export type PeerOptions = { port: number; debuggingPort: number; executable: string }

/** Waits until the peer's port answers. `home`: an empty directory for the browser's profile. */
export async function startPeer(
  main: string,
  browser: GivenBrowser,
  home: string,
): Promise<{ url: string; pid: number; close(): Promise<void> }> {
  const [port, debuggingPort] = [await freePort(), await freePort()]
  const options: PeerOptions = { port, debuggingPort, executable: browser.executable }
  const child = spawn(process.execPath, [path.join(import.meta.dirname, main), JSON.stringify(options)], {
    env: { PATH: process.env['PATH'], ...browser.environment, HOME: home, TMPDIR: home },
    // The IPC channel closes when this process ends.
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let words = ''
  child.stderr!.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString()).slice(-2_000)
  })
  const url = `http://127.0.0.1:${port}`
  const close = async () => {
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : null
    // Its browser is not in its process group: kill all by id, parents first.
    const tree = processTree(child.pid!).map(({ pid }) => pid)
    for (const pid of tree) killIfThere(pid)
    await exited
    // A dying browser still writes into its profile, which is removed next.
    await until(`${main} is gone`, () => !listProcesses().some(({ pid }) => tree.includes(pid)))
  }
  try {
    await until(`${main} listens`, () => child.exitCode !== null || answers(url), 30_000)
    if (child.exitCode !== null) throw new Error(`${main} ended with ${child.exitCode}: ${words}`)
  } catch (error) {
    await close()
    throw new Error(`${main} did not start: ${words}`, { cause: error })
  }
  return { url, pid: child.pid!, close }
}

/** For a peer's main file: ends the peer and its browser with the benchmark. */
export function endWithParent(): void {
  process.on('disconnect', () => {
    for (const { pid } of processTree(process.pid).reverse()) killIfThere(pid)
  })
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

export function getRaw(base: string, target: string): Promise<{ status: number; html: string }> {
  const { hostname, port } = new URL(base)
  return new Promise((resolve, reject) => {
    const sent = http.get({ hostname, port, path: target }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.once('error', reject)
      answer.once('end', () =>
        resolve({ status: answer.statusCode ?? 0, html: Buffer.concat(chunks).toString() }),
      )
    })
    sent.once('error', reject)
  })
}

function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  )
}

/** The peers cannot take port 0. */
async function freePort(): Promise<number> {
  const server = http.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
