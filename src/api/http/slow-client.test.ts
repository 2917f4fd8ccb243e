/** Requests in a trickle, and requests that another server could read differently. */
import assert from 'node:assert/strict'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'

import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
})
after(() => api.close())

/** Everything that comes back; one byte of `drip` goes out every 50 ms. */
async function trickle(head: string, drip: string): Promise<string> {
  const socket = net.connect({ port: Number(new URL(api.url).port), host: '127.0.0.1', allowHalfOpen: true })
  let text = ''
  socket.on('error', () => {})
  socket.on('data', (part) => {
    text += part
  })
  socket.once('end', () => socket.end())
  socket.write(head)
  const timer = setInterval(() => socket.writable && socket.write(drip), 50)
  // Not by `once`, which fails with the reset that whoever goes on writing is answered with.
  await new Promise((tell) => socket.once('close', tell))
  clearInterval(timer)
  return text
}

describe('a trickle ends with 408, in JSON, and holds up nobody', () => {
  // The server looks every two seconds; these it reads anew each time. For whoever is held up by other
  // processes of the machine they have to be long, for the trickle shorter than the time between two looks.
  const usual = { headersTimeout: 0, requestTimeout: 0 }
  before(() => {
    const { headersTimeout, requestTimeout } = api.app.server
    Object.assign(usual, { headersTimeout, requestTimeout })
    Object.assign(api.app.server, { headersTimeout: 1_200, requestTimeout: 1_600 })
  })
  after(() => void Object.assign(api.app.server, usual))

  const TRICKLES: Record<string, [head: string, drip: string]> = {
    'of a head': ['GET /api/domains HTTP/1.1\r\nHost: a\r\nX-A: ', 'x'],
    'of a body': [
      'POST /api/domains HTTP/1.1\r\nHost: a\r\nX-Api-Key: KEY\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n',
      ' ',
    ],
    'of chunks': [
      'POST /api/domains HTTP/1.1\r\nHost: a\r\nX-Api-Key: KEY\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
      '1\r\n \r\n',
    ],
  }
  for (const [name, [head, drip]] of Object.entries(TRICKLES)) {
    it(name, async () => {
      const slow = trickle(head.replace('KEY', owner.key), drip)
      assert.equal((await api.get('/api/domains', owner.key)).status, 200)
      const got = await slow
      assert.match(got, /^HTTP\/1\.1 408 Request Timeout\r\n/)
      assert.match(got, /\{"error":"Request took too long"\}/)
    })
  }
})

describe('a body that could be read in two ways: 400, and what stands behind it is not answered', () => {
  const FRAMINGS: Record<string, string> = {
    'a length and chunks': 'Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'two lengths': 'Content-Length: 0\r\nContent-Length: 5\r\n\r\n',
    'a length with a sign': 'Content-Length: +0\r\n\r\n',
    'chunked twice': 'Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n',
    'a folded coding': 'Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n',
    'a bare line feed': 'X-A: 1\nContent-Length: 0\r\n\r\n',
    'a space before the colon': 'Content-Length : 0\r\n\r\n',
  }
  for (const [name, rest] of Object.entries(FRAMINGS)) {
    it(name, async () => {
      const second = `GET /api/domains HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${owner.key}\r\n\r\n`
      const got = await trickle(`POST /api/domains HTTP/1.1\r\nHost: a\r\n${rest}${second}`, '')
      assert.match(got, /^HTTP\/1\.1 400 /)
      assert.doesNotMatch(got, /HTTP\/1\.1 200/)
    })
  }
})
