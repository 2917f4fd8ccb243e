/** A node, or another server, beside its origin, an attacker and a prober, each a process of its own. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AttackEnd, AttackTask } from './attacker-main.ts'
import type { AttackName } from './attacks.ts'
import type { Probed, ProbeTask } from './prober-main.ts'

const HERE = import.meta.dirname
const SAMPLE_MS = 200

let floods = 0

/** Each flood has an address of its own, because one that was refused often is paused for a while. */
function nextAddress(): string {
  floods = (floods % 250) + 1
  return `127.0.9.${floods}`
}

export type Server = {
  name: string
  pid: number
  port: number
  tlsPort: number
  /** The site that is flooded, and the one that is looked after. */
  flooded: string
  watched: string
  storedPaths: readonly string[]
  hasMisses: boolean
}

/** Memory is in bytes. */
export type Flooded = Probed & {
  sent: number
  memory: { before: number; most: number; after: number }
  descriptors: { before: number; after: number }
  originConnections: { before: number; after: number }
}

export class FloodOrigin {
  readonly url: string
  readonly #process: ChildProcess

  static async start(): Promise<FloodOrigin> {
    const child = fork(path.join(HERE, 'origin-main.ts'))
    const [{ port }] = (await once(child, 'message')) as [{ port: number }]
    return new FloodOrigin(child, port)
  }

  private constructor(child: ChildProcess, port: number) {
    this.#process = child
    this.url = `http://127.0.0.1:${port}`
  }

  /** Connections that the server has to it. Those that this process does not read look open to it for ever. */
  connections(): number {
    const port = Number(new URL(this.url).port).toString(16).toUpperCase().padStart(4, '0')
    const established = new RegExp(`^ *\\d+: \\S+ 0100007F:${port} 01 `, 'gm')
    return [...readFileSync('/proc/net/tcp', 'utf8').matchAll(established)].length
  }

  close(): void {
    this.#process.kill()
  }
}

/** Floods for `seconds`, while a person and a crawler ask, and looks what is left `restSeconds` later. */
export async function flood(
  server: Server,
  origin: FloodOrigin,
  attack: AttackName | null,
  { seconds, restSeconds, failAfterMs }: { seconds: number; restSeconds: number; failAfterMs: number },
): Promise<Flooded> {
  const { pid } = server
  const attacker = fork(path.join(HERE, 'attacker-main.ts'))
  const prober = fork(path.join(HERE, 'prober-main.ts'))
  const before = left(pid, origin)
  let most = before.memory
  const sampling = setInterval(() => {
    most = Math.max(most, residentBytes(pid))
  }, SAMPLE_MS)
  try {
    const probing = once(prober, 'message') as Promise<[Probed]>
    const { port, tlsPort, flooded, watched: host, storedPaths: paths, hasMisses } = server
    prober.send({ port, host, paths, hasMisses, seconds, failAfterMs } satisfies ProbeTask)
    let sent = 0
    if (attack !== null) {
      const target = { port, tlsPort, host: flooded, from: nextAddress() }
      const ended = once(attacker, 'message') as Promise<[AttackEnd]>
      attacker.send({ attack, target, seconds } satisfies AttackTask)
      sent = (await ended)[0].sent
    }
    const [probed] = await probing
    // Clients that vanish stay, without a word, until the edge ends their connections.
    if (attack !== 'HTTP/2 clients that vanish') attacker.kill()
    await sleep(restSeconds * 1_000)
    const after = left(pid, origin)
    return {
      ...probed,
      sent,
      memory: { before: before.memory, most, after: after.memory },
      descriptors: { before: before.descriptors, after: after.descriptors },
      originConnections: { before: before.connections, after: after.connections },
    }
  } finally {
    clearInterval(sampling)
    attacker.kill()
    prober.kill()
  }
}

function left(pid: number, origin: FloodOrigin) {
  return {
    memory: residentBytes(pid),
    descriptors: descriptorsOf(pid),
    connections: origin.connections(),
  }
}

export function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) * 1_024
}

/** Without those of PostgreSQL, which are Unix sockets that come and go. */
export function descriptorsOf(pid: number): number {
  const unix = new Set(
    [...readFileSync('/proc/net/unix', 'utf8').matchAll(/^\S+ \S+ \S+ \S+ \S+ \S+ +(\d+)/gm)].map(
      ([, inode]) => `socket:[${inode}]`,
    ),
  )
  let count = 0
  for (const descriptor of readdirSync(`/proc/${pid}/fd`)) {
    try {
      if (!unix.has(readlinkSync(`/proc/${pid}/fd/${descriptor}`))) count++
    } catch {
      // It was closed meanwhile.
    }
  }
  return count
}
