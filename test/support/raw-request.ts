import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { readSimpleHead } from '../../packages/edge/src/server/simple-head.ts'
import { until } from './condition.ts'
import { openSocket } from './loopback.ts'

// Sends requests unchanged; `fetch` would normalise them.

export async function rawRequest(base: string, options: http.RequestOptions, body?: string | Buffer) {
  const request = http.request(base, { agent: false, ...options })
  // Later ones, such as for bytes behind an answer, come while that is read.
  request.on('error', () => {})
  request.end(body)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return { status: response.statusCode!, headers: response.headers, text: await text(response) }
}

/** Everything until the server ends the connection. */
export function rawBytes(base: string, bytes: string): Promise<string> {
  const socket = net.connect(Number(new URL(base).port), '127.0.0.1')
  socket.write(bytes)
  return text(socket)
}

/** A bare connection, and what has come on it; bytes are Latin-1. */
export function rawClient(t: { after(end: () => unknown): void }, port: number, allowHalfOpen = false) {
  const socket = openSocket(t, port, { allowHalfOpen })
  let got = ''
  socket.on('data', (part: Buffer) => {
    got += part.toString('latin1')
  })
  // Not by `once`, which fails with the reset that whoever goes on writing is answered with.
  const ended = new Promise<string>((tell) => socket.once('close', () => tell(got)))
  const has = (wanted: RegExp) => until(`${wanted} has come`, () => (wanted.test(got) ? got : null))
  return { socket, ended, has }
}

type RawAnswer = Awaited<ReturnType<typeof rawRequest>>

export function assertError({ status, headers, text: said }: RawAnswer, wanted: number, error: string): void {
  assert.equal(status, wanted, said)
  assert.match(headers['content-type'] ?? '', /^application\/json/)
  // Tests that are about a text do not repeat where the problem is.
  const { problems: _, ...body } = JSON.parse(said) as Record<string, unknown>
  assert.deepEqual(body, { error })
}

/** Like `rawBytes`, but ends its half when the server has read everything and waits for more. Bytes are Latin-1. */
export async function rawHalf(server: net.Server, bytes: string): Promise<string> {
  const { port } = server.address() as net.AddressInfo
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let near: net.Socket | undefined
  const unanswered = new Set<{ complete: boolean }>()
  const watch = {
    connection: (one: net.Socket) => {
      if (one.remotePort === socket.localPort) near = one
    },
    request: (request: http.IncomingMessage, response: http.ServerResponse) => {
      if (request.socket !== near) return
      unanswered.add(request)
      response.once('close', () => unanswered.delete(request))
    },
    upgrade: () => unanswered.add({ complete: true }),
  }
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  let answer = ''
  socket.on('error', () => {})
  socket.on('data', (part: Buffer) => {
    answer += part.toString('latin1')
  })
  socket.once('end', () => resolve()).once('close', () => resolve())
  server.on('connection', watch.connection).on('request', watch.request)
  if (server.listenerCount('upgrade') > 0) server.on('upgrade', watch.upgrade)
  socket.write(bytes, 'latin1')
  // The edge's fast lane emits no `request`.
  const isSimple = readSimpleHead(Buffer.from(bytes, 'latin1')) !== null
  const looking = setInterval(() => {
    const isRead = near?.bytesRead === Buffer.byteLength(bytes, 'latin1')
    const isUnanswered = [...unanswered].some(({ complete }) => complete) || (isSimple && answer === '')
    if (isRead && !isUnanswered) socket.end()
  }, LOOK_EVERY_MS)
  await ended
  clearInterval(looking)
  server.off('connection', watch.connection).off('request', watch.request).off('upgrade', watch.upgrade)
  socket.destroy()
  return answer
}

const LOOK_EVERY_MS = 10
