import assert from 'node:assert/strict'
import http from 'node:http'
import net from 'node:net'

// Test support: requests that are sent as they are; fetch would tidy them up.

export type RawAnswer = { status: number; headers: http.IncomingHttpHeaders; text: string }

/** One request on a connection of its own. */
export function rawRequest(
  base: string,
  options: http.RequestOptions,
  body?: string | Buffer,
): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  const request = http.request(base, { agent: false, ...options }, async (response) => {
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    resolve({
      status: response.statusCode!,
      headers: response.headers,
      text: Buffer.concat(chunks).toString(),
    })
  })
  request.on('error', reject)
  request.end(body)
  return promise
}

/** Bytes on a bare connection, and all that comes back until it ends. */
export function rawBytes(base: string, text: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = net.connect(Number(new URL(base).port), '127.0.0.1', () => socket.write(text))
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.on('end', () => {
    socket.destroy()
    resolve(answer)
  })
  socket.on('error', reject)
  return promise
}

/** That the answer is an error in JSON with exactly this text. */
export function assertError({ headers, text }: RawAnswer, error: string): void {
  assert.match(headers['content-type'] ?? '', /^application\/json/)
  assert.deepEqual(JSON.parse(text), { error })
}

/** The same; when the server waits for more the client ends its half, as an attacker whose bytes are all sent. */
export async function rawHalf(base: string, text: string): Promise<string> {
  const socket = net.connect({ port: Number(new URL(base).port), host: '127.0.0.1', allowHalfOpen: true })
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  let answer = ''
  socket.on('error', () => {})
  socket.on('data', (part: Buffer) => {
    answer += part.toString('latin1')
  })
  socket.once('end', () => resolve()).once('close', () => resolve())
  socket.write(text, 'latin1')
  const silent = setTimeout(() => socket.end(), SILENCE_MS)
  await ended
  clearTimeout(silent)
  socket.destroy()
  return answer
}

const SILENCE_MS = 300
