import { once } from 'node:events'
import type http from 'node:http'
import tls from 'node:tls'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { createEdgeServers } from '@prepaint/edge/server/servers.ts'
import { createListener } from '@prepaint/postgres/listener.ts'
import { TaskRunner, type TaskRunnerOptions } from '@prepaint/postgres/tasks'
import { invalidateOn } from '@prepaint/runtime/invalidation.ts'
import { type Log, silentLog } from '@prepaint/runtime/log.ts'
import { findHttpChallenge } from '@prepaint/service/certificates/acme/challenge.ts'
import { Transport } from '@prepaint/service/certificates/acme/transport.ts'
import { Contexts } from '@prepaint/service/certificates/contexts.ts'
import { Ordering, type OrderingOptions } from '@prepaint/service/certificates/orders/ordering.ts'
import type { CheckReach } from '@prepaint/service/certificates/orders/reachability.ts'
import { readServedCertificate, viewCertificate } from '@prepaint/service/certificates/stored-certificate.ts'
import { parseMasterKeys } from '@prepaint/service/certificates/vault/master-key.ts'
import { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { createChallengeAnswer } from '../../packages/edge/src/server/challenge-answer.ts'
import type { TestAcme } from './acme-server.ts'
import { insertDomain, testDatabase } from './database.ts'
import { listening } from './loopback.ts'
import { bringForward } from './tasks.ts'

// Nodes on one database that serve and may order certificates, with real edge servers and a manual clock.

const TEST_MASTER_KEY = Buffer.alloc(32, 7).toString('base64')

export type TestOrderingOptions = Partial<OrderingOptions> &
  TaskRunnerOptions & { reach?: CheckReach | null; log?: Log }

/** `wake`: as if every domain had been announced. `close`: as a node does. */
export type TestOrdering = { wake(): void; close(): Promise<void> }

export type Handshake = { serial: string; protocol: string | false | null; authorized: boolean }

export async function testFleet() {
  const database = await testDatabase()
  const { pool, connection } = database
  let aheadMs = 0
  const clock = { nowMs: () => Date.now() + aheadMs }
  const [account] = await database.column<AccountId>(
    `insert into account (email, plan) values ('red@example.com', 'starter') returning id`,
  )
  const closers: (() => Promise<void>)[] = []

  async function addDomain(name: string): Promise<{ id: DomainId; name: DomainName }> {
    const id = await insertDomain(pool, name, { account: account! })
    await pool.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ host: name })])
    return { id, name: name as DomainName }
  }

  async function node() {
    const listener = await createListener(connection, silentLog())
    const vault = new Vault(pool, '/nowhere', parseMasterKeys(TEST_MASTER_KEY))
    const sources = {
      read: (name: string) => readServedCertificate(pool, name),
      readKept: () => null,
      get isConnected() {
        return listener.connected
      },
      isAway: false,
    }
    const contexts = new Contexts(sources, vault, clock, silentLog())
    invalidateOn(listener, [contexts.held])
    await listener.settled()
    const answerChallenge = createChallengeAnswer((host, token) => findHttpChallenge(pool, host, token))
    const request = (req: http.IncomingMessage, res: http.ServerResponse) =>
      answerChallenge(req, res, () => void res.writeHead(404, []).end('not ours'))
    const limits = { clock, headersMs: 5_000, idleMs: 5_000, keepAliveMs: 5_000, stuckMs: 60_000 }
    const servers = createEdgeServers({ request, upgrade: () => {} }, contexts, limits)
    const secure = servers.secure!
    const ports = { http: await listening(servers.plain), tls: await listening(secure) }
    const orderings: TestOrdering[] = []
    closers.push(async () => {
      for (const ordering of orderings) await ordering.close()
      servers.plain.closeAllConnections()
      servers.plain.close()
      secure.close()
      await listener.close()
    })

    return {
      ports,
      listener,
      vault,
      contexts,
      async handshake(name: string, root?: string): Promise<Handshake> {
        const socket = tls.connect({
          ...{ host: '127.0.0.1', port: ports.tls, servername: name, ALPNProtocols: ['h2', 'http/1.1'] },
          ...{ rejectUnauthorized: false, ...(root !== undefined && { ca: root }) },
        })
        try {
          await once(socket, 'secureConnect')
          const { serialNumber } = socket.getPeerCertificate()
          return { serial: serialNumber, protocol: socket.alpnProtocol, authorized: socket.authorized }
        } finally {
          socket.destroy()
        }
      },
      /** Orders from that CA. The name points to us unless `reach` says otherwise. */
      order(
        acme: Pick<TestAcme, 'directoryUrl' | 'ca'>,
        {
          reach = async () => ({ kind: 'http-01' }),
          log = silentLog(),
          pollMs = 100,
          leaseMs = 60_000,
          ...options
        }: TestOrderingOptions = {},
      ): TestOrdering {
        const transport = new Transport({ userAgent: 'test', ca: acme.ca, timeoutMs: 5_000 })
        const ordering = new Ordering(pool, listener, vault, transport, reach, clock, log, {
          directoryUrl: acme.directoryUrl,
          email: 'operator@example.com',
          perHour: 100,
          times: { pollMs: 20, limitMs: 20_000 },
          ...options,
        })
        const tasks = new TaskRunner(pool, listener, log, { pollMs, leaseMs })
        tasks.add(ordering)
        ordering.start()
        tasks.start()
        const running = {
          wake: () => ordering.askForAll(),
          async close() {
            await tasks.close()
            await ordering.close()
          },
        }
        orderings.push(running)
        return running
      },
    }
  }

  return {
    pool,
    database,
    clock,
    account: account!,
    addDomain,
    node,
    async turn(ms: number) {
      aheadMs += ms
      await bringForward(pool, ms)
    },
    view: async (name: string) => (await viewCertificate(pool, account!, name as DomainName))!,
    async close() {
      for (const close of closers) await close()
      await database.close()
    },
  }
}

export type TestFleet = Awaited<ReturnType<typeof testFleet>>
export type TestNode = Awaited<ReturnType<TestFleet['node']>>
