/** Clients of HTTP/1.1 that ask on without waiting for answers. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, describe, it, type TestContext } from 'node:test'
import { PERSON, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import { MOST_PIPELINED } from './connection-limits.ts'

let edge: TestEdge
before(async () => {
  edge = await startTestEdge({
    origin: (req, res) => {
      if (!req.url?.startsWith('/hangs')) res.end(`origin ${req.url}`)
    },
  })
})
after(() => edge.close())

function connect(t: TestContext): net.Socket {
  const socket = net.connect(edge.port, '127.0.0.1')
  socket.on('error', () => {})
  t.after(() => void socket.destroy())
  return socket
}

const get = (path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${PERSON}\r\nAccept-Encoding: br\r\n\r\n`

describe('requests behind one that is not answered yet', () => {
  it('are answered in their order', async (t) => {
    const socket = connect(t)
    socket.write(Array.from({ length: 5 }, (_, at) => get(`/${at}`)).join(''))
    let text = ''
    for await (const part of socket.iterator({ destroyOnReturn: false })) {
      text += String(part)
      if (/origin \/4/.test(text)) break
    }
    assert.deepEqual(
      [...text.matchAll(/origin \/(\d)/g)].map(([, at]) => at),
      ['0', '1', '2', '3', '4'],
    )
  })

  it('so many, and one more ends the connection', async (t) => {
    const ask = (behind: number) => {
      const socket = connect(t)
      socket.write(get('/hangs') + get('/a').repeat(behind))
      return socket
    }
    const most = ask(MOST_PIPELINED)
    await once(ask(MOST_PIPELINED + 1).resume(), 'close')
    // What the first said has been read by now, too.
    assert.equal((await edge.ask('/', { agent: PERSON })).status, 200)
    assert.equal(most.closed, false)
  })

  it('those that were answered make room', async (t) => {
    const socket = connect(t)
    let text = ''
    socket.on('data', (part) => {
      text += String(part)
    })
    const answers = () => text.split('HTTP/1.1 200').length - 1
    for (let round = 1; round <= 3; round++) {
      socket.write(get('/').repeat(MOST_PIPELINED))
      while (answers() < round * MOST_PIPELINED) await new Promise(setImmediate)
    }
  })
})
